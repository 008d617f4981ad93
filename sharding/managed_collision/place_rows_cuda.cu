// Writes row numbers to their places on a GPU: a thread a row.
#include "embedding/lookup/feature_items.cuh"
#include "runtime/context.h"
#include "sharding/managed_collision/place_rows_impl.h"

namespace tessera::internal {

void PlaceRows(OnCuda on, Context& ctx, std::span<const PlacedRows> parts) {
  ForEachItem(on, ctx, parts, 1, PlaceRow{});
}

}  // namespace tessera::internal
