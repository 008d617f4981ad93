#ifndef TESSERA_OPTIM_RULES_PARTIAL_ROWWISE_ADAM_H_
#define TESSERA_OPTIM_RULES_PARTIAL_ROWWISE_ADAM_H_
// Adam whose second moment is one number a row (FBGEMM's PARTIAL_ROWWISE_ADAM):
//
//   m = β1·m + (1 − β1)·g;   v = β2·v + (1 − β2)·mean_d(g²)
//   w −= lr·( m/(1 − β1^t) / (√(v/(1 − β2^t)) + eps) + weight_decay·w )
#include "optim/rules/adam_moments.h"

namespace tessera {

struct PartialRowwiseAdam {
  float lr = 0.001f;
  float eps = 1e-8f;
  double beta1 = 0.9, beta2 = 0.999;
  float weight_decay = 0;

  static constexpr const char* kName = "partial_rowwise_adam";
  StateSpecs States() const { return {{"momentum1"}, {"momentum2", true}}; }

  struct Step : PartialRowwiseAdamStep {
    static constexpr int kStatistics = 1, kElementStates = 1, kRowStates = 1;

    struct Row {
      float denominator;
    };
    template <typename Real>
    TESSERA_HD void Statistics(RowElement<Real> x, Real* terms) const {
      terms[0] = x.g * x.g;
    }
    TESSERA_HD Row BeginRow(const float* sums, int64_t dim, float* v) const {
      return {DenominatorOfRow(sums[0], dim, v)};
    }
    template <typename Real>
    TESSERA_HD void Update(const Row& row, RowElement<Real>& x, Real* state) const {
      state[0] = first.Next(state[0], x.g);
      x.w = x.w - Real(lr) * Direction(row.denominator, x.w, state[0]);
    }
  };
  Step AtStep(int64_t t) const { return {PartialRowwiseAdamStepOf(*this, t)}; }
};

}  // namespace tessera
#endif  // TESSERA_OPTIM_RULES_PARTIAL_ROWWISE_ADAM_H_
