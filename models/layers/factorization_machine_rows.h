#ifndef TESSERA_MODELS_LAYERS_FACTORIZATION_MACHINE_ROWS_H_
#define TESSERA_MODELS_LAYERS_FACTORIZATION_MACHINE_ROWS_H_
// The factorization machine of one row, the same on every machine; Lanes as in
// runtime/ops/kernels/serial_lanes.h.
#include <cstdint>

#include "runtime/base/host_device.h"

namespace tessera::internal {

// y = ½(s² − Σ v²) with s = Σ v, which is kept.
struct FactorizationRow {
  const float* v;
  double* sums;
  float* y;
  int64_t dim;

  template <typename Lanes>
  TESSERA_HD void operator()(Lanes lanes, int64_t row) const {
    const float* in = v + row * dim;
    const double sum = lanes.Sum(dim, [=](int64_t i) { return static_cast<double>(in[i]); });
    const double squares =
        lanes.Sum(dim, [=](int64_t i) { return static_cast<double>(in[i]) * in[i]; });
    if (!lanes.first()) return;
    sums[row] = sum;
    y[row] = static_cast<float>(0.5 * (sum * sum - squares));
  }
};

// dv_i = dy·(s − v_i).
struct FactorizationSlope {
  const float* v;
  const double* sums;
  const float* dy;
  float* dv;
  int64_t dim;
  TESSERA_HD void operator()(int64_t i) const {
    const int64_t row = i / dim;
    dv[i] = static_cast<float>(dy[row] * (sums[row] - v[i]));
  }
};

}  // namespace tessera::internal
#endif  // TESSERA_MODELS_LAYERS_FACTORIZATION_MACHINE_ROWS_H_
