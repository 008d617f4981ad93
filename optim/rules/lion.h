#ifndef TESSERA_OPTIM_RULES_LION_H_
#define TESSERA_OPTIM_RULES_LION_H_
// Lion, a step of one size against the sign of an interpolated momentum (Chen et al. 2023):
//
//   w −= lr·( sign(β1·m + (1 − β1)·g) + weight_decay·w );   m = β2·m + (1 − β2)·g
#include "optim/rules/adam_moments.h"

namespace tessera {

struct Lion {
  float lr = 1e-4f;
  double beta1 = 0.9, beta2 = 0.99;
  float weight_decay = 0;

  static constexpr const char* kName = "lion";
  StateSpecs States() const { return {{"momentum1"}}; }

  struct Step {
    static constexpr int kStatistics = 0, kElementStates = 1, kRowStates = 0;
    float lr, weight_decay;
    AdamMoment look, keep;

    struct Row {};
    TESSERA_HD Row BeginRow(const float*, int64_t, float*) const { return {}; }
    template <typename Real>
    TESSERA_HD void Update(const Row&, RowElement<Real>& x, Real* state) const {
      x.w = x.w - Real(lr) * (Sign(look.Next(state[0], x.g)) + Real(weight_decay) * x.w);
      state[0] = keep.Next(state[0], x.g);
    }
  };
  Step AtStep(int64_t) const {
    return {lr, weight_decay, AdamMoment::Of(beta1), AdamMoment::Of(beta2)};
  }
};

}  // namespace tessera
#endif  // TESSERA_OPTIM_RULES_LION_H_
