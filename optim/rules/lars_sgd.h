#ifndef TESSERA_OPTIM_RULES_LARS_SGD_H_
#define TESSERA_OPTIM_RULES_LARS_SGD_H_
// SGD with momentum and a rate for each row by the ratio of its norms (You et al. 2017; FBGEMM's
// LARS_SGD):
//
//   a = lr·eta·‖w‖₂ / (‖g‖₂ + weight_decay·‖w‖₂)
//   m = momentum·m + a·(g + weight_decay·w);   w −= m
//
// Where the divisor is 0 (no gradient, no decay), a is 0 (FBGEMM divides by 0).
#include "optim/rules/rule.h"

namespace tessera {

struct LarsSgd {
  float lr = 0.01f;
  float eta = 0.001f;
  float momentum = 0.9f;
  float weight_decay = 0;

  static constexpr const char* kName = "lars_sgd";
  StateSpecs States() const { return {{"momentum1"}}; }

  struct Step {
    static constexpr int kStatistics = 2, kElementStates = 1, kRowStates = 0;
    float rate, momentum, weight_decay;

    struct Row {
      float rate;
    };
    template <typename Real>
    TESSERA_HD void Statistics(RowElement<Real> x, Real* terms) const {
      terms[0] = x.g * x.g;
      terms[1] = x.w * x.w;
    }
    TESSERA_HD Row BeginRow(const float* sums, int64_t, float*) const {
      const float g = Sqrt(sums[0]), w = Sqrt(sums[1]);
      const float divisor = g + weight_decay * w;
      return {divisor == 0 ? 0 : rate * w / divisor};
    }
    template <typename Real>
    TESSERA_HD void Update(const Row& row, RowElement<Real>& x, Real* state) const {
      state[0] = Real(momentum) * state[0] + Real(row.rate) * (x.g + Real(weight_decay) * x.w);
      x.w = x.w - state[0];
    }
  };
  Step AtStep(int64_t) const { return {lr * eta, momentum, weight_decay}; }
};

}  // namespace tessera
#endif  // TESSERA_OPTIM_RULES_LARS_SGD_H_
