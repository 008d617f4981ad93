#ifndef TESSERA_SPARSE_OPS_ROW_RUNS_H_
#define TESSERA_SPARSE_OPS_ROW_RUNS_H_
// Movement of whole segments of rows: what permuting, splitting, joining and selecting jagged data
// comes down to.
//
// A selection names, for each output segment, the source segment it copies: source segment s is
// rows source_offsets[s] … source_offsets[s+1], output segment i is a copy of source segment
// picks[i]. Segments may be picked twice or never.
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "runtime/autograd.h"
#include "sparse/ops/segments.h"

namespace tessera {

class SegmentSelection {
 public:
  // Selects by numbers on the host. Never waits. Throws Error for a pick outside the segments.
  // REQUIRES: source_offsets start at 0 and don't fall.
  SegmentSelection(Context& ctx, const std::vector<int64_t>& source_offsets,
                   const std::vector<int64_t>& picks);
  // Selects by numbers on ctx's device, contiguous i64: offsets [segments·n + 1] end at
  // source_rows, and a source segment is n of the pieces between them. Without output_rows, waits
  // for a device, once, to find their number; throws Error for offsets that fall or end elsewhere,
  // or a pick outside the segments. With it, never waits; on a device nothing is checked then, and
  // picks outside select nothing.
  SegmentSelection(Context& ctx, const Tensor& offsets, int64_t segments, int64_t source_rows,
                   const Tensor& picks, std::optional<int64_t> output_rows = {});

  int64_t source_rows() const { return source_rows_; }
  int64_t output_rows() const { return output_rows_; }
  // i64: [segments+1]; [outputs]; [outputs+1].
  const Tensor& source_offsets() const { return source_offsets_; }
  const Tensor& picks() const { return picks_; }
  const Tensor& output_offsets() const { return output_offsets_; }

  // Rows of `source` [source_rows, …] as selected: [output_rows, …]. Any dtype.
  Tensor Gather(Context& ctx, const Tensor& source) const;
  // The transpose: row r of the result is the sum of the rows of `grad` (f32) that Gather copied
  // from r, in their order.
  Tensor ScatterAdd(Context& ctx, const Tensor& grad) const;

 private:
  Tensor source_offsets_, picks_, output_offsets_;
  int64_t source_rows_ = 0, output_rows_ = 0;
};

// Gather with a way back. Undefined stays undefined.
Variable SelectSegments(Context& ctx, const Variable& source,
                        std::shared_ptr<const SegmentSelection> selection);

// result[i] = source[slots[i]] for all rows i; slots i32 or i64, `source` of any dtype. REQUIRES:
// slots name rows; on a GPU others give zeros.
Tensor TakeRows(Context& ctx, const Tensor& source, const Tensor& slots);
// result[slots[i]] = source[i]: the inverse, where slots are a permutation.
Tensor PlaceRows(Context& ctx, const Tensor& source, const Tensor& slots);

namespace internal {
// Bytes from one row (index of the first dimension) to the next of a contiguous tensor.
int64_t RowBytes(const Tensor& t);
// The shape of t with another first extent.
Shape WithRows(const Tensor& t, int64_t rows);
// Copies on the host; both may be null where there are no bytes.
inline void CopyBytes(char* to, const char* from, int64_t bytes) {
  if (bytes > 0) std::memcpy(to, from, static_cast<size_t>(bytes));
}
}  // namespace internal

}  // namespace tessera
#endif  // TESSERA_SPARSE_OPS_ROW_RUNS_H_
