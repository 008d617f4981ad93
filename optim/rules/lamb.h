#ifndef TESSERA_OPTIM_RULES_LAMB_H_
#define TESSERA_OPTIM_RULES_LAMB_H_
// LAMB, Adam's direction scaled to the norm of the row (You et al. 2020; FBGEMM's LAMB):
//
//   m = β1·m + (1 − β1)·g;   v = β2·v + (1 − β2)·g²
//   r = m/(1 − β1^t) / (√(v/(1 − β2^t)) + eps) + weight_decay·w
//   w −= lr·(‖w‖₂/‖r‖₂)·r         norms over the row: a zero row never moves
//
// A row whose r is 0 stays as it is (FBGEMM divides 0 by 0).
#include "optim/rules/adam_moments.h"

namespace tessera {

struct Lamb {
  float lr = 0.001f;
  float eps = 1e-8f;
  double beta1 = 0.9, beta2 = 0.999;
  float weight_decay = 0;

  static constexpr const char* kName = "lamb";
  StateSpecs States() const { return {{"momentum1"}, {"momentum2"}}; }

  struct Step : AdamStep {
    static constexpr int kStatistics = 0, kLateStatistics = 2, kElementStates = 2, kRowStates = 0;

    struct Row {
      AdamCorrection correction;
      float rate;
    };
    TESSERA_HD Row BeginRow(const float*, int64_t, float*) const { return {correction, 0}; }
    template <typename Real>
    TESSERA_HD void LateStatistics(const Row& row, RowElement<Real> x, const Real* state,
                                   Real* terms) const {
      Real next[2];
      NextMoments(x.g, state, next);
      const Real r = Direction(row.correction, x.w, next);
      terms[0] = x.w * x.w;
      terms[1] = r * r;
    }
    TESSERA_HD void FinishRow(Row& row, const float* sums) const {
      row.rate = sums[1] == 0 ? 0 : lr * (Sqrt(sums[0]) / Sqrt(sums[1]));
    }
    template <typename Real>
    TESSERA_HD void Update(const Row& row, RowElement<Real>& x, Real* state) const {
      NextMoments(x.g, state, state);
      x.w = x.w - Real(row.rate) * Direction(row.correction, x.w, state);
    }
  };
  Step AtStep(int64_t t) const { return {AdamStepOf(*this, t, /*by_row=*/false)}; }
};

}  // namespace tessera
#endif  // TESSERA_OPTIM_RULES_LAMB_H_
