// Layer normalization of rows.
#include "runtime/math.h"
#include "runtime/ops/kernels.h"
#include "runtime/ops/vector_math.h"

namespace tessera::internal::TESSERA_ISA {
namespace {

void Forward(const LayerNormArgs& args) {
  const int64_t dim = args.dim;
  const float scale = 1.0f / static_cast<float>(dim);
  const float* __restrict weight = args.weight, * __restrict bias = args.bias;
  for (int64_t r = 0; r < args.rows; ++r) {
    const float* __restrict x = args.x + r * dim;
    float* __restrict y = args.y + r * dim;
    const float mean = SumInLanes(dim, [&](int64_t i) { return x[i]; }) * scale;
    const float variance =
        SumInLanes(dim, [&](int64_t i) { return (x[i] - mean) * (x[i] - mean); }) * scale;
    const float rstd = 1.0f / Sqrt(variance + args.eps);
    args.mean[r] = mean;
    args.rstd[r] = rstd;
    for (int64_t i = 0; i < dim; ++i) y[i] = (x[i] - mean) * rstd * weight[i] + bias[i];
  }
}

// With x̂ = (x − mean)·rstd and g = dy·weight: dx = rstd·(g − mean(g) − x̂·mean(g·x̂)).
void Backward(const LayerNormGradArgs& args) {
  const int64_t dim = args.dim;
  const float scale = 1.0f / static_cast<float>(dim);
  const float* __restrict weight = args.weight;
  float* __restrict dweight = args.dweight, * __restrict dbias = args.dbias;
  for (int64_t r = 0; r < args.rows; ++r) {
    const float* __restrict x = args.x + r * dim, * __restrict dy = args.dy + r * dim;
    const float mean = args.mean[r], rstd = args.rstd[r];
    for (int64_t i = 0; i < dim; ++i) {
      dweight[i] += dy[i] * ((x[i] - mean) * rstd);
      dbias[i] += dy[i];
    }
    if (args.dx == nullptr) continue;
    float* __restrict dx = args.dx + r * dim;
    const float g_mean = SumInLanes(dim, [&](int64_t i) { return dy[i] * weight[i]; }) * scale;
    const float gx_mean =
        SumInLanes(dim, [&](int64_t i) { return dy[i] * weight[i] * ((x[i] - mean) * rstd); }) *
        scale;
    for (int64_t i = 0; i < dim; ++i)
      dx[i] = rstd * (dy[i] * weight[i] - g_mean - (x[i] - mean) * rstd * gx_mean);
  }
}

}  // namespace

const NormKernels kNorm = {Forward, Backward};

}  // namespace tessera::internal::TESSERA_ISA
