// Column blocks on a GPU: a thread an element.
#include "embedding/lookup/feature_items.cuh"
#include "runtime/context.h"
#include "sharding/exchange/column_blocks_impl.h"

namespace tessera::internal {

void GatherParts(OnCuda on, Context& ctx, std::span<const BlockPart> parts) {
  ForEachItem(on, ctx, parts, 1, GatherPiece{});
}
void SpreadParts(OnCuda on, Context& ctx, std::span<const BlockPart> parts) {
  ForEachItem(on, ctx, parts, 1, SpreadPiece{});
}

}  // namespace tessera::internal
