#ifndef TESSERA_RUNTIME_OPS_KERNELS_NORM_FORMULAS_H_
#define TESSERA_RUNTIME_OPS_KERNELS_NORM_FORMULAS_H_
// Normalization of one row, the same on every machine; Lanes as in serial_lanes.h. With x̂ = (x −
// mean)·rstd:
//
//   layer norm   y = x̂·weight + bias; with g = dy·weight: dx = rstd·(g − mean(g) − x̂·mean(g·x̂))
//   rows to ‖1‖  y = x/n with n = max(‖x‖, eps): dx = (dy − y·(y·dy))/n, or dy/eps where eps rules
#include <cmath>

#include "runtime/numbers/math.h"
#include "runtime/ops/kernels/kernels.h"

namespace tessera::internal {

template <typename Lanes>
TESSERA_HD void LayerNormRow(Lanes lanes, const LayerNormArgs& args, int64_t row) {
  const int64_t dim = args.dim;
  const float scale = 1.0f / static_cast<float>(dim);
  const float* __restrict x = args.x + row * dim;
  const float* __restrict weight = args.weight, * __restrict bias = args.bias;
  float* __restrict y = args.y + row * dim;
  const float mean = lanes.Sum(dim, [=](int64_t i) { return x[i]; }) * scale;
  const float variance =
      lanes.Sum(dim, [=](int64_t i) { return (x[i] - mean) * (x[i] - mean); }) * scale;
  const float rstd = 1.0f / Sqrt(variance + args.eps);
  if (lanes.first()) {
    args.mean[row] = mean;
    args.rstd[row] = rstd;
  }
  lanes.Each(dim, [=](int64_t i) { y[i] = (x[i] - mean) * rstd * weight[i] + bias[i]; });
}

// dx of a row.
template <typename Lanes>
TESSERA_HD void LayerNormGradRow(Lanes lanes, const LayerNormGradArgs& args, int64_t row) {
  const int64_t dim = args.dim;
  const float scale = 1.0f / static_cast<float>(dim);
  const float* __restrict x = args.x + row * dim;
  const float* __restrict dy = args.dy + row * dim;
  const float* __restrict weight = args.weight;
  float* __restrict dx = args.dx + row * dim;
  const float mean = args.mean[row], rstd = args.rstd[row];
  const float g_mean = lanes.Sum(dim, [=](int64_t i) { return dy[i] * weight[i]; }) * scale;
  const float gx_mean =
      lanes.Sum(dim, [=](int64_t i) { return dy[i] * weight[i] * ((x[i] - mean) * rstd); }) * scale;
  lanes.Each(dim, [=](int64_t i) {
    dx[i] = rstd * (dy[i] * weight[i] - g_mean - (x[i] - mean) * rstd * gx_mean);
  });
}

// Returns what one element of a row adds to the gradient of its weight.
TESSERA_HD float LayerNormWeightTerm(float x, float mean, float rstd, float dy) {
  return dy * ((x - mean) * rstd);
}

// √(Σ x²) of a row, in double.
template <typename Lanes>
TESSERA_HD double RowNorm(Lanes lanes, const float* x, int64_t dim) {
  return sqrt(lanes.Sum(dim, [=](int64_t i) { return static_cast<double>(x[i]) * x[i]; }));
}

struct NormalizeRow {
  const float* x;
  float* y;
  int64_t dim;
  double eps;

  template <typename Lanes>
  TESSERA_HD void operator()(Lanes lanes, int64_t row) const {
    const float* in = x + row * dim;
    float* out = y + row * dim;
    const double norm = RowNorm(lanes, in, dim), scale = 1.0 / (norm < eps ? eps : norm);
    lanes.Each(dim, [=](int64_t i) { out[i] = static_cast<float>(in[i] * scale); });
  }
};

struct NormalizeGradRow {
  const float *x, *dy;
  float* dx;
  int64_t dim;
  double eps;

  template <typename Lanes>
  TESSERA_HD void operator()(Lanes lanes, int64_t row) const {
    const float *in = x + row * dim, *g = dy + row * dim;
    float* out = dx + row * dim;
    const double norm = RowNorm(lanes, in, dim), scale = 1.0 / (norm < eps ? eps : norm);
    double dot = 0;
    if (norm > eps)
      dot = lanes.Sum(dim, [=](int64_t i) { return static_cast<double>(in[i]) * g[i]; });
    lanes.Each(dim, [=](int64_t i) {
      out[i] = static_cast<float>((g[i] - in[i] * (dot * scale * scale)) * scale);
    });
  }
};

}  // namespace tessera::internal
#endif  // TESSERA_RUNTIME_OPS_KERNELS_NORM_FORMULAS_H_
