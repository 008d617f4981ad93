#ifndef TESSERA_OPTIM_RULES_ADAM_H_
#define TESSERA_OPTIM_RULES_ADAM_H_
// Adam on the touched rows (Kingma & Ba 2015; FBGEMM's ADAM), weight decay decoupled:
//
//   m = β1·m + (1 − β1)·g;   v = β2·v + (1 − β2)·g²
//   w −= lr·( m/(1 − β1^τ) / (√(v/(1 − β2^τ)) + eps) + weight_decay·w )
//
// τ is the step, or, with use_rowwise_bias_correction, how often this row was updated.
#include "optim/rules/adam_moments.h"

namespace tessera {

struct Adam {
  float lr = 0.001f;
  float eps = 1e-8f;
  double beta1 = 0.9, beta2 = 0.999;
  float weight_decay = 0;
  bool use_rowwise_bias_correction = false;

  static constexpr const char* kName = "adam";
  StateSpecs States() const {
    StateSpecs states = {{"momentum1"}, {"momentum2"}};
    if (use_rowwise_bias_correction) states.push_back({"row_counter", true, true});
    return states;
  }

  struct Step : AdamStep {
    static constexpr int kStatistics = 0, kElementStates = 2, kRowStates = 1;

    using Row = AdamCorrection;
    TESSERA_HD Row BeginRow(const float*, int64_t, float* counter) const {
      return CorrectionOfRow(counter);
    }
    template <typename Real>
    TESSERA_HD void Update(const Row& row, RowElement<Real>& x, Real* state) const {
      NextMoments(x.g, state, state);
      x.w = x.w - Real(lr) * Direction(row, x.w, state);
    }
  };
  Step AtStep(int64_t t) const { return {AdamStepOf(*this, t, use_rowwise_bias_correction)}; }
};

}  // namespace tessera
#endif  // TESSERA_OPTIM_RULES_ADAM_H_
