// Pruning on a GPU: a stable sort of the rows by their norms, and the places of the kept ones.
#include "embedding/lookup/lookup_impl.h"
#include "embedding/lookup/prune_rows_impl.h"
#include "runtime/algorithms.h"
#include "runtime/launch.cuh"
#include "runtime/tensor.h"

namespace tessera::internal {
namespace {

struct Count {
  uint32_t* numbers;
  TESSERA_HD void operator()(int64_t i) const { numbers[i] = static_cast<uint32_t>(i); }
};

uint64_t* KeysOf(const Tensor& t) { return reinterpret_cast<uint64_t*>(t.data<int64_t>()); }
uint32_t* PlacesOf(const Tensor& t) { return reinterpret_cast<uint32_t*>(t.data<int32_t>()); }

}  // namespace

Tensor FlagLargestRows(OnCuda, Context& ctx, const Tensor& table, int64_t kept) {
  const int64_t n = table.dim(0);
  const Tensor keys = Tensor::Empty(ctx, {2, n}, DType::kI64),
               places = Tensor::Empty(ctx, {2, n}, DType::kI32),
               flags = Tensor::Zeros(ctx, {n}, DType::kU8);
  VisitRowType(table.dtype(), [&]<typename Row>() {
    ForEach(ctx, n, NormKey<Row>{table.data<Row>(), table.dim(1), KeysOf(keys)});
  });
  ForEach(ctx, n, Count{PlacesOf(places)});
  const uint32_t* sorted =
      SortPairs(ctx, KeysOf(keys), KeysOf(keys) + n, PlacesOf(places), PlacesOf(places) + n, n, 64)
          .values;
  ForEach(ctx, kept, SetFlag{sorted, flags.data<uint8_t>()});
  return flags;
}

Tensor FlaggedPlacesSync(OnCuda, Context& ctx, const Tensor& flags) {
  const Tensor places = Tensor::Empty(ctx, flags.shape(), DType::kI64),
               count = Tensor::Zeros(ctx, {1}, DType::kI64);
  SelectFlagged(ctx, static_cast<const uint8_t*>(flags.raw_data()), flags.numel(),
                places.data<int64_t>(), count.data<int64_t>());
  return places.Rows(0, ReadScalarSync(ctx, count.data<int64_t>()));
}

void SetRows(OnCuda, Context& ctx, const Tensor& kept, const Tensor& map) {
  VisitIndexType(map.dtype(), "a map of ids", [&]<typename T>() {
    ForEach(ctx, kept.numel(), SetRow<T>{kept.data<int64_t>(), map.data<T>()});
  });
}

}  // namespace tessera::internal
