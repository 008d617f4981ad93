#ifndef TESSERA_OPTIM_RULES_MOMENTUM_SGD_H_
#define TESSERA_OPTIM_RULES_MOMENTUM_SGD_H_
// SGD with momentum on the touched rows (Polyak 1964; torch.optim.SGD without dampening), or with
// Nesterov's look ahead:
//
//   ĝ = g + weight_decay·w;   m = momentum·m + ĝ
//   w −= lr·m,   or, nesterov,   w −= lr·(ĝ + momentum·m)
#include "optim/rules/rule.h"

namespace tessera {

struct MomentumSgd {
  float lr = 0.01f;
  float momentum = 0.9f;
  float weight_decay = 0;
  bool nesterov = false;

  static constexpr const char* kName = "momentum_sgd";
  StateSpecs States() const { return {{"momentum1"}}; }

  struct Step {
    static constexpr int kStatistics = 0, kElementStates = 1, kRowStates = 0;
    float lr, momentum, weight_decay;
    bool nesterov;

    struct Row {};
    TESSERA_HD Row BeginRow(const float*, int64_t, float*) const { return {}; }
    template <typename Real>
    TESSERA_HD void Update(const Row&, RowElement<Real>& x, Real* state) const {
      x.g = x.g + Real(weight_decay) * x.w;
      state[0] = Real(momentum) * state[0] + x.g;
      x.w = x.w - Real(lr) * (nesterov ? x.g + Real(momentum) * state[0] : state[0]);
    }
  };
  Step AtStep(int64_t) const { return {lr, momentum, weight_decay, nesterov}; }
};

}  // namespace tessera
#endif  // TESSERA_OPTIM_RULES_MOMENTUM_SGD_H_
