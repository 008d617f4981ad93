#ifndef TESSERA_DATA_SYNTHETIC_NORMAL_H_
#define TESSERA_DATA_SYNTHETIC_NORMAL_H_
// A number of the standard normal distribution, from two that are uniform in [0, 1) (Box and
// Muller).
#include <cmath>

#include "runtime/numbers/math.h"

namespace tessera {

inline float Normal(double u, double v) {
  const double radius = std::sqrt(-2 * Log1p(-u));
  return static_cast<float>(radius * CosPi(2 * v));
}

}  // namespace tessera
#endif  // TESSERA_DATA_SYNTHETIC_NORMAL_H_
