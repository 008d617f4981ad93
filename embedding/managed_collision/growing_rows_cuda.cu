// The rows of a growing index on a GPU: made, and found.
#include <algorithm>
#include <bit>
#include <vector>

#include "embedding/managed_collision/growing_rows_cuda.cuh"
#include "runtime/tensor.h"

namespace tessera::internal {
namespace {

struct FindRow {
  RowColumns columns;
  IndexArray ids;
  int64_t* rows;
  TESSERA_HD void operator()(int64_t i) const { rows[i] = columns.Find(ids[i]); }
};

}  // namespace

GrowingRows MakeGrowingRows(OnCuda, Context& ctx, int64_t max_rows, const Tensor& ids,
                            const Tensor& last, const Tensor& counts,
                            const std::vector<int64_t>& free, const GrowingNumbers& numbers) {
  const int64_t used = ids.numel();
  const auto column = [&](const Tensor& from) {
    const Tensor all = Tensor::Empty(ctx, {max_rows}, DType::kI64);
    all.Rows(0, used).CopyFrom(ctx, from);
    return all;
  };
  const auto slots = static_cast<int64_t>(std::bit_ceil(2 * static_cast<uint64_t>(max_rows)));
  std::vector<int64_t> listed = free;  // evictions leave fewer rows over than a window has victims
  listed.resize(std::max<size_t>(free.size(), kEvictionWindow / kSeenAVictim));
  GrowingRows rows = {
      column(ids),
      column(last),
      column(counts),
      Tensor::Empty(ctx, {slots}, DType::kI32),
      Tensor::From(ctx, listed),
      Tensor::From(ctx, std::vector<int64_t>{numbers.num_rows, numbers.num_free, numbers.hand,
                                             numbers.looked_at, numbers.reused, numbers.erased,
                                             numbers.adds}),
      /*sketch=*/{},
      /*most_rows=*/used};
  rows.counts.Rows(used, max_rows).Fill(ctx, 0);  // nobody owns these rows
  rows.slots.Fill(ctx, -1);
  ForEach(ctx, used, EnterRow{RowColumns(rows)});
  return rows;
}

Tensor FindGrowing(OnCuda, Context& ctx, const GrowingRows& rows, const Tensor& ids) {
  Tensor found = Tensor::Empty(ctx, {ids.numel()}, DType::kI64);
  ForEach(ctx, ids.numel(), FindRow{RowColumns(rows), ArrayOf(ids), found.data<int64_t>()});
  return found;
}

void PlaceBehindShared(OnCuda, Context& ctx, const Tensor& ids, int64_t shared,
                       const Tensor& rows) {
  ForEach(ctx, rows.numel(), PlaceBehindSharedRows{ArrayOf(ids), shared, rows.data<int64_t>()});
}

}  // namespace tessera::internal
