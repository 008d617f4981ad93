// Bags of ids cut by blocks of rows on a GPU: a thread a bag.
#include "embedding/lookup/feature_items.cuh"
#include "runtime/context.h"
#include "sharding/exchange/row_split_impl.h"

namespace tessera::internal {

void ForBags(OnCuda on, Context& ctx, std::span<const SplitFeature> features, const CountBag& fn) {
  ForEachItem(on, ctx, features, 1, fn);
}
void ForBags(OnCuda on, Context& ctx, std::span<const SplitFeature> features, const PlaceBag& fn) {
  ForEachItem(on, ctx, features, 1, fn);
}

}  // namespace tessera::internal
