#ifndef TESSERA_EMBEDDING_CACHE_ROW_HASH_H_
#define TESSERA_EMBEDDING_CACHE_ROW_HASH_H_
// Which set of a cache a row belongs to:
//
//   set(row) = ⌊h(row) · sets / 2^k⌋,   k bits number the rows
//   h: x ^= x >> s;  x = A·x mod 2^k;  x ^= x >> s;  x = B·x mod 2^k,   s = ⌈k/2⌉
//
// h is a bijection of [0, 2^k) and the set grows with it: one sort of the rows of a batch by h
// finds equal rows and brings those of a set together, and the row is had back from its key.
#include <bit>
#include <cstdint>

#include "runtime/base/host_device.h"

namespace tessera::internal {

// x with odd·x = 1 mod 2^64, by Newton's method.
constexpr uint64_t OddInverse(uint64_t odd) {
  uint64_t inverse = odd;  // right in 3 bits
  for (int i = 0; i < 5; ++i) inverse *= 2 - odd * inverse;
  return inverse;
}

struct RowHash {
  int bits = 1;  // k

  static RowHash Of(int64_t num_rows) {
    return {num_rows > 2 ? static_cast<int>(std::bit_width(static_cast<uint64_t>(num_rows - 1)))
                         : 1};
  }

  TESSERA_HD uint64_t Mask() const { return ~uint64_t{0} >> (64 - bits); }
  TESSERA_HD uint64_t Fold(uint64_t x) const { return x ^ x >> (bits + 1) / 2; }  // its own inverse
  // REQUIRES: 0 ≤ row < num_rows.
  TESSERA_HD uint64_t operator()(int64_t row) const {
    const uint64_t x = Fold(static_cast<uint64_t>(row)) * kA & Mask();
    return Fold(x) * kB & Mask();
  }
  TESSERA_HD int64_t RowOf(uint64_t hash) const {
    const uint64_t x = Fold(hash * kBInverse & Mask());
    return static_cast<int64_t>(Fold(x * kAInverse & Mask()));
  }

  // The odd factors of MurmurHash3's finalizer (public domain).
  static constexpr uint64_t kA = 0xff51afd7ed558ccdull, kB = 0xc4ceb9fe1a85ec53ull;
  static constexpr uint64_t kAInverse = OddInverse(kA), kBInverse = OddInverse(kB);
};

}  // namespace tessera::internal
#endif  // TESSERA_EMBEDDING_CACHE_ROW_HASH_H_
