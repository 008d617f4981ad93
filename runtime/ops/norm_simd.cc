// Layer normalization of rows. Sums over a row: 16 interleaved partial sums, folded by halves.
#include "runtime/math.h"
#include "runtime/ops/kernels.h"

namespace tessera::internal::TESSERA_ISA {
namespace {

constexpr int64_t kWidth = 16;

// Σ_i term(i).
template <typename Term>
[[gnu::always_inline]] inline float RowSum(int64_t n, Term term) {
  float lane[kWidth] = {};
  int64_t i = 0;
  for (; i + kWidth <= n; i += kWidth)
    for (int64_t l = 0; l < kWidth; ++l) lane[l] += term(i + l);
  for (int64_t l = 0; i + l < n; ++l) lane[l] += term(i + l);
  for (int64_t half = kWidth / 2; half > 0; half /= 2)
    for (int64_t l = 0; l < half; ++l) lane[l] += lane[l + half];
  return lane[0];
}

void Forward(const LayerNormArgs& args) {
  const int64_t dim = args.dim;
  const float scale = 1.0f / static_cast<float>(dim);
  const float *__restrict weight = args.weight, *__restrict bias = args.bias;
  for (int64_t r = 0; r < args.rows; ++r) {
    const float* __restrict x = args.x + r * dim;
    float* __restrict y = args.y + r * dim;
    const float mean = RowSum(dim, [&](int64_t i) { return x[i]; }) * scale;
    const float variance = RowSum(dim, [&](int64_t i) { return (x[i] - mean) * (x[i] - mean); }) * scale;
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
  float *__restrict dweight = args.dweight, *__restrict dbias = args.dbias;
  for (int64_t r = 0; r < args.rows; ++r) {
    const float *__restrict x = args.x + r * dim, *__restrict dy = args.dy + r * dim;
    const float mean = args.mean[r], rstd = args.rstd[r];
    for (int64_t i = 0; i < dim; ++i) {
      dweight[i] += dy[i] * ((x[i] - mean) * rstd);
      dbias[i] += dy[i];
    }
    if (args.dx == nullptr) continue;
    float* __restrict dx = args.dx + r * dim;
    const float g_mean = RowSum(dim, [&](int64_t i) { return dy[i] * weight[i]; }) * scale;
    const float gx_mean = RowSum(dim, [&](int64_t i) { return dy[i] * weight[i] * ((x[i] - mean) * rstd); }) * scale;
    for (int64_t i = 0; i < dim; ++i)
      dx[i] = rstd * (dy[i] * weight[i] - g_mean - (x[i] - mean) * rstd * gx_mean);
  }
}

}  // namespace

const NormKernels kNorm = {Forward, Backward};

}  // namespace tessera::internal::TESSERA_ISA
