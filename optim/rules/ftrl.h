#ifndef TESSERA_OPTIM_RULES_FTRL_H_
#define TESSERA_OPTIM_RULES_FTRL_H_
// FTRL-proximal, whose L1 makes weights exactly 0 (McMahan et al. 2013, "Ad click prediction: a
// view from the trenches", algorithm 1):
//
//   σ = (√(n + g²) − √n) / lr;   z += g − σ·w;   n += g²
//   w = 0 where |z| ≤ l1, else −(z − sign(z)·l1) / ((beta + √n)/lr + l2)
//
// The state z starts at 0, so what a touched weight was at the start counts only by its first σ·w.
// With lr 0, as where a warm-up begins, rows and states stay as they are: the formulas divide by
// it.
#include <cmath>

#include "optim/rules/rule.h"

namespace tessera {

struct Ftrl {
  float lr = 0.01f;  // the paper's α
  float beta = 1;
  float l1 = 0, l2 = 0;

  static constexpr const char* kName = "ftrl";
  StateSpecs States() const { return {{"linear"}, {"accumulator"}}; }  // z, n

  struct Step {
    static constexpr int kStatistics = 0, kElementStates = 2, kRowStates = 0;
    float rate, beta, l1, l2;  // rate: 1/lr, or 0 for none

    struct Row {};
    TESSERA_HD Row BeginRow(const float*, int64_t, float*) const { return {}; }
    template <typename Real>
    TESSERA_HD void Update(const Row&, RowElement<Real>& x, Real* state) const {
      if (rate == 0) return;
      const Real n = state[1] + x.g * x.g, root = Sqrt(n);
      const Real z = state[0] + x.g - (root - Sqrt(state[1])) * Real(rate) * x.w;
      state[0] = z;
      state[1] = n;
      // |z| beyond l1, with z's sign.
      const Real beyond = Max(z - Real(l1), Real(0)) + Min(z + Real(l1), Real(0));
      x.w = Real(0) - beyond / ((Real(beta) + root) * Real(rate) + Real(l2));
    }
  };
  Step AtStep(int64_t) const {
    const float rate = 1.0f / lr;
    return {std::isfinite(rate) ? rate : 0, beta, l1, l2};
  }
};

}  // namespace tessera
#endif  // TESSERA_OPTIM_RULES_FTRL_H_
