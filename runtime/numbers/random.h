#ifndef TESSERA_RUNTIME_NUMBERS_RANDOM_H_
#define TESSERA_RUNTIME_NUMBERS_RANDOM_H_
// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC'11): random bits
// as a function of a key and a counter, so that element i of a tensor has the same number on every
// device and with any number of threads.
#include <cstdint>

#include "runtime/base/host_device.h"

namespace tessera {

struct PhiloxBits {
  uint32_t v[4];
};

// The 128 random bits of `counter` in sequence `sequence` under `seed`.
TESSERA_HD PhiloxBits Philox(uint64_t seed, uint64_t sequence, uint64_t counter) {
  uint32_t c0 = static_cast<uint32_t>(counter), c1 = static_cast<uint32_t>(counter >> 32);
  uint32_t c2 = static_cast<uint32_t>(sequence), c3 = static_cast<uint32_t>(sequence >> 32);
  uint32_t k0 = static_cast<uint32_t>(seed), k1 = static_cast<uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t{0xD2511F53u} * c0, p1 = uint64_t{0xCD9E8D57u} * c2;
    c0 = static_cast<uint32_t>(p1 >> 32) ^ c1 ^ k0;
    c2 = static_cast<uint32_t>(p0 >> 32) ^ c3 ^ k1;
    c1 = static_cast<uint32_t>(p1);
    c3 = static_cast<uint32_t>(p0);
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return {{c0, c1, c2, c3}};
}

// In [0, 1), a multiple of 2^-24.
TESSERA_HD float UniformFloat(uint32_t bits) { return static_cast<float>(bits >> 8) * 0x1p-24f; }
// In [0, 1), a multiple of 2^-53.
TESSERA_HD double UniformDouble(uint32_t high, uint32_t low) {
  return static_cast<double>((uint64_t{high} << 32 | low) >> 11) * 0x1p-53;
}

// In [0, count), from 64 random bits: the high half of a product, whose bias is below count / 2^64.
TESSERA_HD int64_t UniformBelow(int64_t count, uint32_t high, uint32_t low) {
  const auto bits = static_cast<unsigned __int128>(uint64_t{high} << 32 | low);
  return static_cast<int64_t>(bits * static_cast<uint64_t>(count) >> 64);
}

// A seed and the number of sequences drawn so far: two numbers that a checkpoint keeps. Every
// random op takes one sequence of its own.
class Random {
 public:
  explicit Random(uint64_t seed = 0, uint64_t next_sequence = 0)
      : seed_(seed), next_sequence_(next_sequence) {}
  uint64_t seed() const { return seed_; }
  uint64_t next_sequence() const { return next_sequence_; }
  uint64_t TakeSequence() { return next_sequence_++; }

 private:
  uint64_t seed_, next_sequence_;
};

}  // namespace tessera
#endif  // TESSERA_RUNTIME_NUMBERS_RANDOM_H_
