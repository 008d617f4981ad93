#ifndef TESSERA_BENCH_INPUTS_DRAWS_H_
#define TESSERA_BENCH_INPUTS_DRAWS_H_
// Random numbers in a row, as a function of a seed and a sequence alone. Also what the standard
// library's distributions and shuffles take as their source of bits.
#include <cstdint>

#include "runtime/numbers/random.h"

namespace tessera::bench {

class Draws {
 public:
  using result_type = uint64_t;
  static constexpr uint64_t min() { return 0; }
  static constexpr uint64_t max() { return UINT64_MAX; }

  Draws(uint64_t seed, uint64_t sequence) : seed_(seed), sequence_(sequence) {}

  uint64_t operator()() {
    const PhiloxBits bits = Next();
    return uint64_t{bits.v[0]} << 32 | bits.v[1];
  }
  // In [0, 1).
  double Uniform() {
    const PhiloxBits bits = Next();
    return UniformDouble(bits.v[0], bits.v[1]);
  }
  // In [0, count).
  int64_t Below(int64_t count) {
    const PhiloxBits bits = Next();
    return UniformBelow(count, bits.v[0], bits.v[1]);
  }

 private:
  PhiloxBits Next() { return Philox(seed_, sequence_, counter_++); }

  uint64_t seed_, sequence_, counter_ = 0;
};

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_INPUTS_DRAWS_H_
