#include "embedding/lookup/prune_rows.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "embedding/lookup/lookup_impl.h"
#include "embedding/lookup/prune_rows_impl.h"
#include "runtime/device/dispatch.h"
#include "runtime/for_each.h"
#include "sparse/ops/row_runs.h"

namespace tessera {
namespace internal {

Tensor FlagLargestRows(OnCpu on, Context& ctx, const Tensor& table, int64_t kept) {
  const int64_t n = table.dim(0), grain = 1 + (1 << 15) / std::max<int64_t>(1, table.dim(1));
  std::vector<uint64_t> keys(static_cast<size_t>(n));
  VisitRowType(table.dtype(), [&]<typename Row>() {
    ForEach(on, ctx, n, grain, NormKey<Row>{table.data<Row>(), table.dim(1), keys.data()});
  });
  std::vector<uint32_t> places(keys.size());
  std::iota(places.begin(), places.end(), 0u);
  std::nth_element(
      places.begin(), places.begin() + kept, places.end(),
      [&](uint32_t a, uint32_t b) { return keys[a] != keys[b] ? keys[a] < keys[b] : a < b; });
  const Tensor flags = Tensor::Zeros(ctx, {n}, DType::kU8);
  ForEach(on, ctx, kept, 1 << 15, SetFlag{places.data(), flags.data<uint8_t>()});
  return flags;
}

Tensor FlaggedPlacesSync(OnCpu, Context& ctx, const Tensor& flags) {
  const auto* data = static_cast<const uint8_t*>(flags.raw_data());
  std::vector<int64_t> places;
  for (int64_t i = 0; i < flags.numel(); ++i)
    if (data[i] != 0) places.push_back(i);
  return Tensor::From(ctx, places);
}

void SetRows(OnCpu on, Context& ctx, const Tensor& kept, const Tensor& map) {
  VisitIndexType(map.dtype(), "a map of ids", [&]<typename T>() {
    ForEach(on, ctx, kept.numel(), 1 << 15, SetRow<T>{kept.data<int64_t>(), map.data<T>()});
  });
}

}  // namespace internal

namespace {

void CheckTable(const Context& ctx, const Tensor& table) {
  TESSERA_CHECK(table.rank() == 2 && table.is_contiguous(),
                "pruning: a table of shape {}; expected contiguous rows", table.shape());
  CheckDevice(ctx, "pruning", table);
}

}  // namespace

PrunedTable PruneRowsByMaskSync(Context& ctx, const Tensor& table, const Tensor& keep,
                                RemapKind kind) {
  CheckTable(ctx, table);
  CheckDevice(ctx, "pruning", keep);
  TESSERA_CHECK(keep.dtype() == DType::kBool || keep.dtype() == DType::kU8,
                "pruning: a mask of {}; expected bool or u8", keep.dtype());
  TESSERA_CHECK_EQ(keep.shape(), Shape{table.dim(0)}, "pruning: shape of the mask");
  const Tensor flags = keep.Contiguous(ctx);
  PrunedTable pruned;
  pruned.kept_ids = DispatchDevice(
      ctx.device(), [&](auto on) { return internal::FlaggedPlacesSync(on, ctx, flags); });
  const bool wide = table.dim(0) > std::numeric_limits<int32_t>::max();
  const Tensor map = Tensor::Full(ctx, {table.dim(0)}, -1, wide ? DType::kI64 : DType::kI32);
  DispatchDevice(ctx.device(), [&](auto on) { internal::SetRows(on, ctx, pruned.kept_ids, map); });
  pruned.remap =
      std::make_shared<IndexRemap>(IndexRemap::FromMap(ctx, kind, map, pruned.kept_ids.numel()));
  pruned.rows = TakeRows(ctx, table, pruned.kept_ids);
  return pruned;
}

PrunedTable PruneRowsByNormSync(Context& ctx, const Tensor& table, int64_t kept, RemapKind kind) {
  CheckTable(ctx, table);
  TESSERA_CHECK(
      table.dtype() == DType::kF32 || table.dtype() == DType::kF16 || table.dtype() == DType::kBF16,
      "pruning: rows of {}; expected f32, f16 or bf16", table.dtype());
  TESSERA_CHECK(0 <= kept && kept <= table.dim(0), "pruning: {} rows of {} are to be kept", kept,
                table.dim(0));
  TESSERA_CHECK(table.dim(0) <= std::numeric_limits<uint32_t>::max(), "pruning: {} rows",
                table.dim(0));
  const Tensor flags = DispatchDevice(
      ctx.device(), [&](auto on) { return internal::FlagLargestRows(on, ctx, table, kept); });
  return PruneRowsByMaskSync(ctx, table, flags, kind);
}

}  // namespace tessera
