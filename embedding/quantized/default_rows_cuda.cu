// Ids to rows of tables with a default row, on a GPU: a thread an id.
#include "embedding/lookup/feature_items.cuh"
#include "embedding/quantized/default_rows_impl.h"
#include "runtime/context.h"

namespace tessera::internal {

void DefaultFeatures(OnCuda on, Context& ctx, std::span<const DefaultedFeature> features) {
  ForEachItem(on, ctx, features, 1, RowOrDefault{});
}

}  // namespace tessera::internal
