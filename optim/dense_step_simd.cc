// Steps of dense optimizers over a piece of a parameter. Plain loops: the compiler vectorizes them
// for each level.
#include "optim/dense_step.h"
#include "runtime/math.h"
#include "runtime/ops/vector_math.h"

namespace tessera::internal::TESSERA_ISA {
namespace {

void SgdStep(const DenseStepArgs& args) {
  const DenseStepArgs a = args;  // a copy: the compiler then knows that no store changes it
  float* __restrict p = a.p;
  const float* __restrict grad = a.grad;
  for (int64_t i = 0; i < a.n; ++i) p[i] -= a.rate * (a.sign * grad[i] + a.l2 * p[i]);
}

void SgdMomentumStep(const DenseStepArgs& args) {
  const DenseStepArgs a = args;
  float* __restrict p = a.p, * __restrict buffer = a.state[0];
  const float* __restrict grad = a.grad;
  for (int64_t i = 0; i < a.n; ++i) {
    const float g = a.sign * grad[i] + a.l2 * p[i];
    const float b = a.first ? g : a.momentum * buffer[i] + a.undampened * g;
    buffer[i] = b;
    p[i] -= a.rate * (a.nesterov ? g + a.momentum * b : b);
  }
}

void AdagradStep(const DenseStepArgs& args) {
  const DenseStepArgs a = args;
  float* __restrict p = a.p, * __restrict sum = a.state[0];
  const float* __restrict grad = a.grad;
  for (int64_t i = 0; i < a.n; ++i) {
    const float g = a.sign * grad[i] + a.l2 * p[i];
    sum[i] += g * g;
    p[i] -= a.rate * g / (Sqrt(sum[i]) + a.eps);
  }
}

void RowwiseAdagradStep(const DenseStepArgs& args) {
  const DenseStepArgs a = args;
  for (int64_t r = 0; r < a.n; ++r) {
    float* __restrict p = a.p + r * a.dim;
    const float* __restrict grad = a.grad + r * a.dim;
    const auto gradient = [&](int64_t i) { return a.sign * grad[i] + a.l2 * p[i]; };
    const float squares = SumInLanes(a.dim, [&](int64_t i) { return gradient(i) * gradient(i); });
    a.state[0][r] += squares / static_cast<float>(a.dim);
    const float step = a.rate / (Sqrt(a.state[0][r]) + a.eps);
    for (int64_t i = 0; i < a.dim; ++i) p[i] -= step * gradient(i);
  }
}

template <bool kAmsgrad>
void AdamStep(const DenseStepArgs& args) {
  const DenseStepArgs a = args;
  float* __restrict p = a.p, * __restrict m = a.state[0], * __restrict v = a.state[1], * __restrict v_max = a.state[2];
  const float* __restrict grad = a.grad;
  for (int64_t i = 0; i < a.n; ++i) {
    const float w = a.keep * p[i];
    const float g = a.sign * grad[i] + a.l2 * w;
    m[i] = a.beta1 * m[i] + a.rest1 * g;
    v[i] = a.beta2 * v[i] + a.rest2 * (g * g);
    float square = v[i];
    if constexpr (kAmsgrad) {
      square = v_max[i] > square ? v_max[i] : square;
      v_max[i] = square;
    }
    p[i] = w - a.rate * m[i] / (Sqrt(square) / a.root_correction + a.eps);
  }
}

}  // namespace

const DenseStepKernels kDenseStep = {
    SgdStep, SgdMomentumStep, AdagradStep, RowwiseAdagradStep, AdamStep<false>, AdamStep<true>};

}  // namespace tessera::internal::TESSERA_ISA
