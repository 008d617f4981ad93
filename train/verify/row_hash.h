#ifndef TESSERA_TRAIN_VERIFY_ROW_HASH_H_
#define TESSERA_TRAIN_VERIFY_ROW_HASH_H_
// The hash of a row: Σ over its columns c of Mix(bits of the element in c, c), in the field of
// located_sum.h, so that blocks of columns, which ranks may hold, add up to the hash of the row.
#include <cstdint>
#include <cstring>

#include "train/verify/located_sum.h"

namespace tessera {

// Numbers that differ give results that differ, as each step can be undone.
inline uint64_t Mix(uint64_t bits, uint64_t column) {
  uint64_t z = bits + (column + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

// The hash of a row's elements, of which the first one lies in `first_column`.
template <typename Bits>
uint64_t HashOfColumns(const char* data, int64_t columns, int64_t first_column) {
  unsigned __int128 sum = 0;
  for (int64_t c = 0; c < columns; ++c) {
    Bits bits;
    std::memcpy(&bits, data + c * static_cast<int64_t>(sizeof bits), sizeof bits);
    sum += Mix(bits, static_cast<uint64_t>(first_column + c));
  }
  return LocatedSum::ElementOf(sum);
}

// `bytes` are those of an element: 1, 2, 4 or 8.
inline uint64_t HashOfRow(const char* data, int64_t bytes, int64_t columns, int64_t first_column) {
  if (bytes == 1) return HashOfColumns<uint8_t>(data, columns, first_column);
  if (bytes == 2) return HashOfColumns<uint16_t>(data, columns, first_column);
  if (bytes == 4) return HashOfColumns<uint32_t>(data, columns, first_column);
  return HashOfColumns<uint64_t>(data, columns, first_column);
}

}  // namespace tessera
#endif  // TESSERA_TRAIN_VERIFY_ROW_HASH_H_
