#ifndef TESSERA_RUNTIME_NUMBERS_LANES_H_
#define TESSERA_RUNTIME_NUMBERS_LANES_H_
// The order in which every machine sums over a row: lane l adds elements l, l + 32, l + 64, … in
// turn, starting from 0; then the 32 partial sums are folded by halves, 16, 8, 4, 2, 1, as a warp
// does with xor-shuffles.
#include "runtime/base/host_device.h"

namespace tessera {

inline constexpr int kLanes = 32;

// Folds 32 partial sums in that order; the array is used up.
template <typename Real>
TESSERA_HD Real FoldLanes(Real (&lane)[kLanes]) {
  for (int half = kLanes / 2; half > 0; half /= 2)
    for (int l = 0; l < half; ++l) lane[l] += lane[l + half];
  return lane[0];
}

}  // namespace tessera
#endif  // TESSERA_RUNTIME_NUMBERS_LANES_H_
