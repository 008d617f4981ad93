#ifndef TESSERA_TRAIN_VERIFY_ROW_HASH_H_
#define TESSERA_TRAIN_VERIFY_ROW_HASH_H_
// The hash of a row: Σ over its columns c of MixedBits(the element's bits + (c + 1) kGoldenRatio),
// in the field of located_sum.h, so that blocks of columns, which ranks may hold, add up to it.
#include <cstdint>
#include <cstring>

#include "runtime/base/hash.h"
#include "train/verify/located_sum.h"

namespace tessera {

// The hash of a row's elements, of which the first one lies in `first_column`.
template <typename Bits>
uint64_t HashOfColumns(const char* data, int64_t columns, int64_t first_column) {
  unsigned __int128 sum = 0;
  for (int64_t c = 0; c < columns; ++c) {
    Bits bits;
    std::memcpy(&bits, data + c * static_cast<int64_t>(sizeof bits), sizeof bits);
    const auto column = static_cast<uint64_t>(first_column + c);
    sum += internal::MixedBits(bits + (column + 1) * internal::kGoldenRatio);
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
