#ifndef TESSERA_SPARSE_OPS_ROW_RUNS_IMPL_H_
#define TESSERA_SPARSE_OPS_ROW_RUNS_IMPL_H_
// The devices' halves of row_runs.h.
#include <optional>
#include <span>
#include <vector>

#include "runtime/device/device.h"
#include "sparse/ops/row_runs.h"

namespace tessera::internal {

struct SelectionParts {
  Tensor source_offsets, picks, output_offsets;
  int64_t source_rows, output_rows;
};

// See the constructors of SegmentSelection.
SelectionParts MakeSelection(OnCpu, Context& ctx, const Tensor& offsets, int64_t segments,
                             int64_t source_rows, const Tensor& picks,
                             std::optional<int64_t> output_rows);
SelectionParts MakeSelection(OnCuda, Context& ctx, const Tensor& offsets, int64_t segments,
                             int64_t source_rows, const Tensor& picks,
                             std::optional<int64_t> output_rows);
// Output offsets. Throws Error for a pick outside the segments.
std::vector<int64_t> OutputOffsets(std::span<const int64_t> source_offsets,
                                   std::span<const int64_t> picks);

// All tensors contiguous; `to` of its full shape.
void GatherSegments(OnCpu, Context& ctx, const SegmentSelection& selection, const Tensor& from,
                    const Tensor& to);
void GatherSegments(OnCuda, Context& ctx, const SegmentSelection& selection, const Tensor& from,
                    const Tensor& to);
void AddSegments(OnCpu, Context& ctx, const SegmentSelection& selection, const Tensor& from,
                 const Tensor& to);
void AddSegments(OnCuda, Context& ctx, const SegmentSelection& selection, const Tensor& from,
                 const Tensor& to);
// to[i] = from[slots[i]] (`take`), or to[slots[i]] = from[i].
void MoveRows(OnCpu, Context& ctx, const Tensor& from, const Tensor& slots, bool take,
              const Tensor& to);
void MoveRows(OnCuda, Context& ctx, const Tensor& from, const Tensor& slots, bool take,
              const Tensor& to);

}  // namespace tessera::internal
#endif  // TESSERA_SPARSE_OPS_ROW_RUNS_IMPL_H_
