#ifndef TESSERA_DATA_TABLE_ROW_H_
#define TESSERA_DATA_TABLE_ROW_H_
// From an unsigned id to the row of a table.
#include <cstdint>

namespace tessera {

// (value + shift) mod rows, or mod 2^64 for 0. A 32-bit division, where it is enough, takes half
// the time of a 64-bit one. REQUIRES: shift is 0 or 1.
inline uint64_t TableRow(uint64_t value, uint64_t shift, uint64_t rows) {
  if (rows == 0) return value + shift;
  if (rows >> 32 == 0) {
    const uint64_t reduced = value >> 32 == 0 ? value : value % rows;
    const uint64_t shifted = reduced + shift;
    return shifted >> 32 == 0 ? static_cast<uint32_t>(shifted) % static_cast<uint32_t>(rows)
                              : shifted % rows;
  }
  return (value % rows + shift) % rows;
}

}  // namespace tessera
#endif  // TESSERA_DATA_TABLE_ROW_H_
