#ifndef TESSERA_OPTIM_DENSE_STEP_FORMULAS_H_
#define TESSERA_OPTIM_DENSE_STEP_FORMULAS_H_
// The formulas of dense optimizers for one element, the same on every machine: Updated returns the
// new value and changes the element's kStates states in place.
#include "optim/dense_step.h"
#include "runtime/numbers/math.h"

namespace tessera::internal {

// The gradient as the formulas take it.
TESSERA_HD float StepGradient(const DenseStepArgs& a, float p, float grad) {
  return a.sign * grad + a.l2 * p;
}

struct SgdStep {
  static constexpr int kStates = 0;
  TESSERA_HD static float Updated(const DenseStepArgs& a, float p, float grad, float*) {
    return p - a.rate * StepGradient(a, p, grad);
  }
};

struct SgdMomentumStep {
  static constexpr int kStates = 1;
  TESSERA_HD static float Updated(const DenseStepArgs& a, float p, float grad, float* state) {
    const float g = StepGradient(a, p, grad);
    const float buffer = a.first ? g : a.momentum * state[0] + a.undampened * g;
    state[0] = buffer;
    return p - a.rate * (a.nesterov ? g + a.momentum * buffer : buffer);
  }
};

struct AdagradStep {
  static constexpr int kStates = 1;
  TESSERA_HD static float Updated(const DenseStepArgs& a, float p, float grad, float* state) {
    const float g = StepGradient(a, p, grad);
    state[0] += g * g;
    return p - a.rate * g / (Sqrt(state[0]) + a.eps);
  }
};

template <bool kAmsgrad>
struct AdamStep {
  static constexpr int kStates = kAmsgrad ? 3 : 2;
  TESSERA_HD static float Updated(const DenseStepArgs& a, float p, float grad, float* state) {
    const float w = a.keep * p, g = StepGradient(a, w, grad);
    state[0] = a.beta1 * state[0] + a.rest1 * g;
    state[1] = a.beta2 * state[1] + a.rest2 * (g * g);
    float square = state[1];
    if constexpr (kAmsgrad) {
      square = state[2] > square ? state[2] : square;
      state[2] = square;
    }
    return w - a.rate * state[0] / (Sqrt(square) / a.root_correction + a.eps);
  }
};

// Element i of a parameter, its gradient and its states.
template <typename Formula>
TESSERA_HD void UpdateElement(const DenseStepArgs& a, float* __restrict p,
                              const float* __restrict grad, float* __restrict s0,
                              float* __restrict s1, float* __restrict s2, int64_t i) {
  float state[3] = {};
  if constexpr (Formula::kStates > 0) state[0] = s0[i];
  if constexpr (Formula::kStates > 1) state[1] = s1[i];
  if constexpr (Formula::kStates > 2) state[2] = s2[i];
  p[i] = Formula::Updated(a, p[i], grad[i], state);
  if constexpr (Formula::kStates > 0) s0[i] = state[0];
  if constexpr (Formula::kStates > 1) s1[i] = state[1];
  if constexpr (Formula::kStates > 2) s2[i] = state[2];
}

// A whole row; Lanes as in runtime/ops/kernels/row_lanes.h.
struct RowwiseAdagradStep {
  template <typename Lanes>
  TESSERA_HD static void UpdateRow(Lanes lanes, const DenseStepArgs& a, int64_t row) {
    float* __restrict p = a.p + row * a.dim;
    const float* __restrict grad = a.grad + row * a.dim;
    const float squares = lanes.Sum(a.dim, [&](int64_t i) {
      const float g = StepGradient(a, p[i], grad[i]);
      return g * g;
    });
    const float sum = a.state[0][row] + squares / static_cast<float>(a.dim);
    const float step = a.rate / (Sqrt(sum) + a.eps);
    lanes.Each(a.dim, [&](int64_t i) { p[i] -= step * StepGradient(a, p[i], grad[i]); });
    if (lanes.first()) a.state[0][row] = sum;
  }
};

}  // namespace tessera::internal
#endif  // TESSERA_OPTIM_DENSE_STEP_FORMULAS_H_
