#ifndef TESSERA_RUNTIME_OPS_KERNELS_SOFTMAX_FORMULAS_H_
#define TESSERA_RUNTIME_OPS_KERNELS_SOFTMAX_FORMULAS_H_
// Softmax of one row, the same on every machine; Lanes as in serial_lanes.h. Sums are in double.
#include <cstdint>

#include "runtime/base/host_device.h"
#include "runtime/numbers/math.h"

namespace tessera::internal {

// How many of a row's columns count.
struct RowLengths {
  const int64_t* lengths;  // one for every rows_of_a_length rows; null: all columns of all rows
  int64_t rows_of_a_length, columns;
  TESSERA_HD int64_t operator[](int64_t row) const {
    return lengths == nullptr ? columns : lengths[row / rows_of_a_length];
  }
};

struct SoftmaxRow {
  const float* x;
  RowLengths lengths;
  float* y;

  template <typename Lanes>
  TESSERA_HD void operator()(Lanes lanes, int64_t row) const {
    const int64_t columns = lengths.columns, n = lengths[row];
    const float* in = x + row * columns;
    float* out = y + row * columns;
    const double largest = lanes.Max(n, [=](int64_t i) { return in[i]; });
    const double sum = lanes.Sum(n, [=](int64_t i) { return Exp(in[i] - largest); });
    lanes.Each(columns, [=](int64_t i) {
      out[i] = i < n ? static_cast<float>(Exp(in[i] - largest) / sum) : 0.0f;
    });
  }
};

// dx = y·(dy − Σ y·dy); 0 where y is.
struct SoftmaxGradRow {
  const float *y, *dy;
  float* dx;
  int64_t columns;

  template <typename Lanes>
  TESSERA_HD void operator()(Lanes lanes, int64_t row) const {
    const float *p = y + row * columns, *g = dy + row * columns;
    float* out = dx + row * columns;
    const double dot =
        lanes.Sum(columns, [=](int64_t i) { return static_cast<double>(p[i]) * g[i]; });
    lanes.Each(columns, [=](int64_t i) { out[i] = static_cast<float>(p[i] * (g[i] - dot)); });
  }
};

}  // namespace tessera::internal
#endif  // TESSERA_RUNTIME_OPS_KERNELS_SOFTMAX_FORMULAS_H_
