#ifndef TESSERA_OPTIM_RULES_ADAM_MOMENTS_H_
#define TESSERA_OPTIM_RULES_ADAM_MOMENTS_H_
// Moments that Adam, LAMB and their partial row-wise forms share: moving averages of the gradient
// and of its square, and the correction for their start at 0.
#include "optim/rules/rule.h"

namespace tessera {

// 1/(1 − β1^τ) and 1/(1 − β2^τ).
struct AdamCorrection {
  float first, second;
  TESSERA_HD static AdamCorrection At(double beta1, double beta2, int64_t tau) {
    return {static_cast<float>(1.0 / (1.0 - PowInteger(beta1, tau))),
            static_cast<float>(1.0 / (1.0 - PowInteger(beta2, tau)))};
  }
};

// How a moment takes in what is new: m ← β·m + (1 − β)·x.
struct AdamMoment {
  float beta, rest;
  static AdamMoment Of(double beta) {
    return {static_cast<float>(beta), static_cast<float>(1.0 - beta)};
  }
  template <typename Real>
  TESSERA_HD Real Next(Real m, Real x) const {
    return Real(beta) * m + Real(rest) * x;
  }
};

// The numbers of one step with a second moment an element, and the step's direction.
struct AdamStep {
  float lr, eps, weight_decay;
  AdamMoment first, second;
  double beta1, beta2;
  AdamCorrection correction;
  bool by_row;  // τ is the row's own count

  TESSERA_HD AdamCorrection CorrectionOfRow(float* counter) const {
    if (!by_row) return correction;
    counter[0] += 1.0f;
    return AdamCorrection::At(beta1, beta2, static_cast<int64_t>(counter[0]));
  }
  // m/(1 − β1^τ) / (√(v/(1 − β2^τ)) + eps) + weight_decay·w, of the moments in state.
  template <typename Real>
  TESSERA_HD Real Direction(const AdamCorrection& row, Real w, const Real* state) const {
    return state[0] * Real(row.first) / (Sqrt(state[1] * Real(row.second)) + Real(eps)) +
           Real(weight_decay) * w;
  }
  template <typename Real>
  TESSERA_HD void NextMoments(Real g, const Real* from, Real* to) const {
    to[0] = first.Next(from[0], g);
    to[1] = second.Next(from[1], g * g);
  }
};

// Adam with one second moment a row.
struct PartialRowwiseAdamStep {
  float lr, eps, weight_decay;
  AdamMoment first, second;
  AdamCorrection correction;

  // √(v/(1 − β2^τ)) + eps, after v took in the mean square.
  TESSERA_HD float DenominatorOfRow(float square_sum, int64_t dim, float* v) const {
    v[0] = second.Next(v[0], square_sum / static_cast<float>(dim));
    return Sqrt(v[0] * correction.second) + eps;
  }
  template <typename Real>
  TESSERA_HD Real Direction(float denominator, Real w, Real m) const {
    return m * Real(correction.first) / Real(denominator) + Real(weight_decay) * w;
  }
};

template <typename Rule>
AdamStep AdamStepOf(const Rule& r, int64_t t, bool by_row) {
  return {r.lr,
          r.eps,
          r.weight_decay,
          AdamMoment::Of(r.beta1),
          AdamMoment::Of(r.beta2),
          r.beta1,
          r.beta2,
          AdamCorrection::At(r.beta1, r.beta2, t),
          by_row};
}
template <typename Rule>
PartialRowwiseAdamStep PartialRowwiseAdamStepOf(const Rule& r, int64_t t) {
  return {r.lr,
          r.eps,
          r.weight_decay,
          AdamMoment::Of(r.beta1),
          AdamMoment::Of(r.beta2),
          AdamCorrection::At(r.beta1, r.beta2, t)};
}

}  // namespace tessera
#endif  // TESSERA_OPTIM_RULES_ADAM_MOMENTS_H_
