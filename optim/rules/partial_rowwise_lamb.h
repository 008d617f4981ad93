#ifndef TESSERA_OPTIM_RULES_PARTIAL_ROWWISE_LAMB_H_
#define TESSERA_OPTIM_RULES_PARTIAL_ROWWISE_LAMB_H_
// LAMB (optim/rules/lamb.h) whose second moment is one number a row, of mean_d(g²) (FBGEMM's
// PARTIAL_ROWWISE_LAMB).
#include "optim/rules/adam_moments.h"

namespace tessera {

struct PartialRowwiseLamb {
  float lr = 0.001f;
  float eps = 1e-8f;
  double beta1 = 0.9, beta2 = 0.999;
  float weight_decay = 0;

  static constexpr const char* kName = "partial_rowwise_lamb";
  StateSpecs States() const { return {{"momentum1"}, {"momentum2", true}}; }

  struct Step : PartialRowwiseAdamStep {
    static constexpr int kStatistics = 1, kLateStatistics = 2, kElementStates = 1, kRowStates = 1;

    struct Row {
      float denominator, rate;
    };
    template <typename Real>
    TESSERA_HD void Statistics(RowElement<Real> x, Real* terms) const {
      terms[0] = x.g * x.g;
    }
    TESSERA_HD Row BeginRow(const float* sums, int64_t dim, float* v) const {
      return {DenominatorOfRow(sums[0], dim, v), 0};
    }
    template <typename Real>
    TESSERA_HD void LateStatistics(const Row& row, RowElement<Real> x, const Real* state,
                                   Real* terms) const {
      const Real r = Direction(row.denominator, x.w, first.Next(state[0], x.g));
      terms[0] = x.w * x.w;
      terms[1] = r * r;
    }
    TESSERA_HD void FinishRow(Row& row, const float* sums) const {
      row.rate = sums[1] == 0 ? 0 : lr * (Sqrt(sums[0]) / Sqrt(sums[1]));
    }
    template <typename Real>
    TESSERA_HD void Update(const Row& row, RowElement<Real>& x, Real* state) const {
      state[0] = first.Next(state[0], x.g);
      x.w = x.w - Real(row.rate) * Direction(row.denominator, x.w, state[0]);
    }
  };
  Step AtStep(int64_t t) const { return {PartialRowwiseAdamStepOf(*this, t)}; }
};

}  // namespace tessera
#endif  // TESSERA_OPTIM_RULES_PARTIAL_ROWWISE_LAMB_H_
