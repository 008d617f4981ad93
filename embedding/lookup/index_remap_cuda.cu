// Remapping ids on a GPU: a thread an id.
#include "embedding/lookup/feature_items.cuh"
#include "embedding/lookup/index_remap_impl.h"
#include "runtime/context.h"

namespace tessera::internal {

void RemapFeatures(OnCuda on, Context& ctx, std::span<const RemappedFeature> features) {
  ForEachItem(on, ctx, features, 1, RemapId{});
}

}  // namespace tessera::internal
