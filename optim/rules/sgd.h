#ifndef TESSERA_OPTIM_RULES_SGD_H_
#define TESSERA_OPTIM_RULES_SGD_H_
// Stochastic gradient descent: w −= lr·g. FBGEMM's EXACT_SGD.
#include "optim/rules/rule.h"

namespace tessera {

struct Sgd {
  float lr = 0.01f;

  static constexpr const char* kName = "sgd";
  StateSpecs States() const { return {}; }

  struct Step {
    static constexpr int kStatistics = 0, kElementStates = 0, kRowStates = 0;
    float lr;

    struct Row {};
    TESSERA_HD Row BeginRow(const float*, int64_t, float*) const { return {}; }
    template <typename Real>
    TESSERA_HD void Update(const Row&, RowElement<Real>& x, Real*) const {
      x.w = x.w - Real(lr) * x.g;
    }
  };
  Step AtStep(int64_t) const { return {lr}; }
};

}  // namespace tessera
#endif  // TESSERA_OPTIM_RULES_SGD_H_
