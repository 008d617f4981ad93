#ifndef TESSERA_RUNTIME_OPS_KERNELS_SIMILARITY_FORMULAS_H_
#define TESSERA_RUNTIME_OPS_KERNELS_SIMILARITY_FORMULAS_H_
// Dot products of rows, the same on every machine.
#include <cstdint>

#include "runtime/base/host_device.h"

namespace tessera::internal {

// y[r] = q[r]·c[r], summed in double in the order of runtime/numbers/lanes.h.
struct DotRow {
  const float *q, *c;
  float *y;
  int64_t dim;

  template <typename Lanes>
  TESSERA_HD void operator()(Lanes lanes, int64_t row) const {
    const float *a = q + row * dim, *b = c + row * dim;
    const double dot = lanes.Sum(dim, [=](int64_t i) { return static_cast<double>(a[i]) * b[i]; });
    if (lanes.first()) y[row] = static_cast<float>(dot);
  }
};

// Row r of x times scale[r].
struct ScaleRowItems {
  const float *x, *scale;
  float *y;
  int64_t dim;
  TESSERA_HD void operator()(int64_t i) const { y[i] = x[i] * scale[i / dim]; }
};

}  // namespace tessera::internal
#endif  // TESSERA_RUNTIME_OPS_KERNELS_SIMILARITY_FORMULAS_H_
