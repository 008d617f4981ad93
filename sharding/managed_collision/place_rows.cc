#include "sharding/managed_collision/place_rows.h"

#include "embedding/lookup/feature_items.h"
#include "sharding/managed_collision/place_rows_impl.h"

namespace tessera {
namespace internal {

void PlaceRows(OnCpu on, Context& ctx, std::span<const PlacedRows> parts) {
  ForEachItem(on, ctx, parts, 1 << 14, PlaceRow{});
}

}  // namespace internal

void PlaceRows(Context& ctx, std::span<const PlacedRows> parts) {
  DispatchDevice(ctx.device(), [&](auto on) { internal::PlaceRows(on, ctx, parts); });
}

}  // namespace tessera
