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

// Slots for rows that are ready, the first `used` of them entered.
void MakeSlots(Context& ctx, GrowingRows* rows, int64_t ready, int64_t used) {
  const auto slots = static_cast<int64_t>(std::bit_ceil(2 * static_cast<uint64_t>(ready)));
  if (slots <= rows->slots.numel()) return;
  rows->slots = Tensor::Empty(ctx, {slots}, DType::kI32);
  rows->slots.Fill(ctx, -1);
  ForEach(ctx, used, EnterRow{RowColumns(*rows)});
}

}  // namespace

void ReadyRows(Context& ctx, GrowingRows* rows, int64_t num_rows, int64_t max_rows) {
  const int64_t before = rows->ready_rows;
  if (num_rows <= before) return;
  const int64_t ready = std::min(std::max(num_rows, before + before / 8), max_rows);
  (void)rows->ids.Rows(ready);
  (void)rows->last.Rows(ready);
  rows->counts.Rows(ready).Rows(before, ready).Fill(ctx, 0);  // nobody owns these rows
  MakeSlots(ctx, rows, ready, before);
  rows->ready_rows = ready;
}

GrowingRows MakeGrowingRows(OnCuda, Context& ctx, int64_t max_rows, const Tensor& ids,
                            const Tensor& last, const Tensor& counts,
                            const std::vector<int64_t>& free, const GrowingNumbers& numbers) {
  const int64_t used = ids.numel();
  const auto column = [&](const Tensor& from) {
    const ReservedTensor all(ctx, {max_rows}, DType::kI64);
    all.Rows(used).CopyFrom(ctx, from);
    return all;
  };
  std::vector<int64_t> listed = free;  // evictions leave fewer rows over than a window has victims
  listed.resize(std::max<size_t>(free.size(), kEvictionWindow / kSeenAVictim));
  GrowingRows rows = {
      column(ids),
      column(last),
      column(counts),
      /*slots=*/Tensor::Empty(ctx, {0}, DType::kI32),
      Tensor::From(ctx, listed),
      Tensor::From(ctx, std::vector<int64_t>{numbers.num_rows, numbers.num_free, numbers.hand,
                                             numbers.looked_at, numbers.reused, numbers.erased,
                                             numbers.adds}),
      /*sketch=*/{},
      /*ready_rows=*/used,
      /*most_rows=*/used};
  MakeSlots(ctx, &rows, std::max<int64_t>(used, 1), used);
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
