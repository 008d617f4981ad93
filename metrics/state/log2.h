#ifndef TESSERA_METRICS_STATE_LOG2_H_
#define TESSERA_METRICS_STATE_LOG2_H_
// The logarithm of metrics: the same bits with every C library.
#include <limits>

#include "runtime/numbers/math.h"

namespace tessera {

// log₂ x within a few units in the last place, exact for powers of two; −infinity of 0, NaN below.
inline double Log2Of(double x) {
  constexpr double kPerNat = 1.4426950408889634;  // 1 / ln 2
  const bool normal =
      x >= std::numeric_limits<double>::min() && x <= std::numeric_limits<double>::max();
  if (!normal) return Log(x) * kPerNat;
  const auto [m, exponent] = SplitExponent(x);
  return static_cast<double>(exponent) + Log(m) * kPerNat;
}

}  // namespace tessera
#endif  // TESSERA_METRICS_STATE_LOG2_H_
