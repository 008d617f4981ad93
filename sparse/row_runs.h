#ifndef TESSERA_SPARSE_ROW_RUNS_H_
#define TESSERA_SPARSE_ROW_RUNS_H_
// Movement of whole segments of rows: what permuting, splitting, joining and selecting jagged data
// comes down to.
//
// A selection names, for each output segment, the source segment it copies: source segment s is
// rows source_offsets[s] … source_offsets[s+1], output segment i is a copy of source segment
// picks[i]. Segments may be picked twice or never.
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "runtime/autograd.h"

namespace tessera {

class SegmentSelection {
 public:
  // Throws Error for a pick outside the segments. REQUIRES: source_offsets start at 0 and don't
  // fall.
  SegmentSelection(std::vector<int64_t> source_offsets, std::vector<int64_t> picks);

  int64_t source_rows() const { return source_offsets_.back(); }
  int64_t output_rows() const { return output_offsets_.back(); }
  const std::vector<int64_t>& source_offsets() const { return source_offsets_; }
  const std::vector<int64_t>& picks() const { return picks_; }
  const std::vector<int64_t>& output_offsets() const { return output_offsets_; }

  // Rows of `source` [source_rows, …] as selected: [output_rows, …]. Any dtype.
  Tensor Gather(Context& ctx, const Tensor& source) const;
  // The transpose: row r of the result is the sum of the rows of `grad` (f32) that Gather copied
  // from r, in their order.
  Tensor ScatterAdd(Context& ctx, const Tensor& grad) const;

 private:
  std::vector<int64_t> source_offsets_, picks_, output_offsets_;
};

// Gather with a way back. Undefined stays undefined.
Variable SelectSegments(Context& ctx, const Variable& source,
                        std::shared_ptr<const SegmentSelection> selection);

// A 1-D index tensor (i32 or i64) as int64 numbers on the host.
std::vector<int64_t> ToInt64(const Tensor& indices);
// Complete cumulative sum on the host.
std::vector<int64_t> HostOffsets(std::span<const int64_t> lengths);

namespace internal {
// Bytes from one row (index of the first dimension) to the next of a contiguous tensor.
int64_t RowBytes(const Tensor& t);
// The shape of t with another first extent.
Shape WithRows(const Tensor& t, int64_t rows);
}  // namespace internal

}  // namespace tessera
#endif  // TESSERA_SPARSE_ROW_RUNS_H_
