#ifndef TESSERA_SHARDING_MANAGED_COLLISION_PLACE_ROWS_IMPL_H_
#define TESSERA_SHARDING_MANAGED_COLLISION_PLACE_ROWS_IMPL_H_
// PlaceRows on each machine.
#include <span>

#include "runtime/base/host_device.h"
#include "runtime/device/dispatch.h"
#include "sharding/managed_collision/place_rows.h"

namespace tessera::internal {

struct PlaceRow {
  TESSERA_HD void operator()(const PlacedRows& part, int64_t i) const {
    const int64_t row = part.rows[i];
    part.to[part.positions == nullptr ? i : part.positions[i]] =
        row < 0 ? row : part.first_row + row;
  }
};

void PlaceRows(OnCpu, Context& ctx, std::span<const PlacedRows> parts);
void PlaceRows(OnCuda, Context& ctx, std::span<const PlacedRows> parts);

}  // namespace tessera::internal
#endif  // TESSERA_SHARDING_MANAGED_COLLISION_PLACE_ROWS_IMPL_H_
