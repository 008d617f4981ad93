#ifndef TESSERA_OPTIM_RULES_ADAGRAD_H_
#define TESSERA_OPTIM_RULES_ADAGRAD_H_
// Adagrad, one sum an element (Duchi et al. 2011; FBGEMM's EXACT_ADAGRAD):
//
//   m += g²;   w −= lr·g / (√m + eps)
#include "optim/rules/rule.h"

namespace tessera {

struct Adagrad {
  float lr = 0.01f;
  float eps = 1e-8f;

  static constexpr const char* kName = "adagrad";
  StateSpecs States() const { return {{"momentum1"}}; }

  struct Step {
    static constexpr int kStatistics = 0, kElementStates = 1, kRowStates = 0;
    float lr, eps;

    struct Row {};
    TESSERA_HD Row BeginRow(const float*, int64_t, float*) const { return {}; }
    template <typename Real>
    TESSERA_HD void Update(const Row&, RowElement<Real>& x, Real* state) const {
      state[0] = state[0] + x.g * x.g;
      x.w = x.w - Real(lr) * x.g / (Sqrt(state[0]) + Real(eps));
    }
  };
  Step AtStep(int64_t) const { return {lr, eps}; }
};

}  // namespace tessera
#endif  // TESSERA_OPTIM_RULES_ADAGRAD_H_
