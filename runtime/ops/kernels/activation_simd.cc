// Activations, bias and column sums. The loops are plain: the compiler vectorizes them for each
// level.
#include "runtime/ops/kernels/activation_formulas.h"
#include "runtime/ops/kernels/kernels.h"

namespace tessera::internal::TESSERA_ISA {
namespace {

template <typename F>
void Forward(const float* __restrict x, float* __restrict y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] = F::Value(x[i]);
}

template <typename F>
void Backward(const float* __restrict saved, const float* __restrict dy, float* __restrict dx,
              int64_t n) {
  for (int64_t i = 0; i < n; ++i) dx[i] = dy[i] * F::Slope(saved[i]);
}

template <typename F>
constexpr ActivationKernels kActivation = {Forward<F>, Backward<F>};

void AddBias(float* y, int64_t ld, int64_t rows, int64_t n, const float* bias, bool relu) {
  for (int64_t r = 0; r < rows; ++r, y += ld) {
    float* __restrict row = y;
    const float* __restrict b = bias;
    if (bias != nullptr && relu)
      for (int64_t i = 0; i < n; ++i) row[i] = ReluFormula::Value(row[i] + b[i]);
    else if (bias != nullptr)
      for (int64_t i = 0; i < n; ++i) row[i] += b[i];
    else if (relu)
      for (int64_t i = 0; i < n; ++i) row[i] = ReluFormula::Value(row[i]);
  }
}

void ColumnSums(const float* x, int64_t ld, int64_t rows, int64_t n, float* __restrict sums) {
  for (int64_t begin = 0; begin < rows; begin += kSumChunk) {
    const int64_t end = begin + kSumChunk < rows ? begin + kSumChunk : rows;
    float chunk[kSumColumns] = {};
    for (int64_t r = begin; r < end; ++r) {
      const float* __restrict row = x + r * ld;
      for (int64_t i = 0; i < n; ++i) chunk[i] += row[i];
    }
    for (int64_t i = 0; i < n; ++i) sums[i] += chunk[i];
  }
}

}  // namespace

const ElementwiseKernels kElementwise = {kActivation<ReluFormula>,
                                         kActivation<SigmoidFormula>,
                                         kActivation<TanhFormula>,
                                         kActivation<SwishFormula>,
                                         AddBias,
                                         ColumnSums};

}  // namespace tessera::internal::TESSERA_ISA
