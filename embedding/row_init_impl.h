#ifndef TESSERA_EMBEDDING_ROW_INIT_IMPL_H_
#define TESSERA_EMBEDDING_ROW_INIT_IMPL_H_
// Private to embedding/row_init*.
#include "runtime/device.h"
#include "runtime/math.h"
#include "runtime/random.h"

namespace tessera {
class Context;
}

namespace tessera::internal {

// Element i of FillNormal.
struct NormalElement {
  uint64_t seed, sequence;
  float mean, stddev;
  float* out;

  // A point of the square around the unit circle; whether it lies inside, and not in the middle.
  TESSERA_HD bool Try(uint32_t a, uint32_t b, int64_t i) const {
    const double u = 2.0 * static_cast<double>(UniformFloat(a)) - 1.0;
    const double v = 2.0 * static_cast<double>(UniformFloat(b)) - 1.0, s = u * u + v * v;
    if (s >= 1.0 || s == 0.0) return false;
    const double log = Log2(s) * 0.69314718055994531;
    const double z = u * static_cast<double>(Sqrt(static_cast<float>(-2.0 * log / s)));
    out[i] = mean + stddev * static_cast<float>(z);
    return true;
  }
  // Two points a counter, each good with π/4: 2^9 of them are enough.
  TESSERA_HD void operator()(int64_t i) const {
    for (uint64_t round = 0; round < 256; ++round) {
      const PhiloxBits bits = Philox(seed, sequence, static_cast<uint64_t>(i) << 8 | round);
      if (Try(bits.v[0], bits.v[1], i) || Try(bits.v[2], bits.v[3], i)) return;
    }
    out[i] = mean;
  }
};
void ForEachElement(OnCuda, Context& ctx, int64_t n, const NormalElement& fn);

}  // namespace tessera::internal
#endif  // TESSERA_EMBEDDING_ROW_INIT_IMPL_H_
