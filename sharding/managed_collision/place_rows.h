#ifndef TESSERA_SHARDING_MANAGED_COLLISION_PLACE_ROWS_H_
#define TESSERA_SHARDING_MANAGED_COLLISION_PLACE_ROWS_H_
// Row numbers of a part of a table, put among those of the whole of it: to[positions[i]] =
// first_row + rows[i]; −1, no row, stays −1.
#include <cstdint>
#include <span>

#include "runtime/context.h"

namespace tessera {

// Lies on the device of the context it is used with.
struct PlacedRows {
  int64_t count = 0;
  const int64_t* rows = nullptr;       // [count]
  const int32_t* positions = nullptr;  // [count]; null: 0, 1, 2, …
  int64_t first_row = 0;
  int64_t* to = nullptr;
};
// REQUIRES: no position of one `to` twice.
void PlaceRows(Context& ctx, std::span<const PlacedRows> parts);

}  // namespace tessera
#endif  // TESSERA_SHARDING_MANAGED_COLLISION_PLACE_ROWS_H_
