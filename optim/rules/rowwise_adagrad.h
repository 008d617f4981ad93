#ifndef TESSERA_OPTIM_RULES_ROWWISE_ADAGRAD_H_
#define TESSERA_OPTIM_RULES_ROWWISE_ADAGRAD_H_
// Row-wise Adagrad, one sum a row (FBGEMM's EXACT_ROWWISE_ADAGRAD, TorchRec's RowWiseAdagrad):
//
//   ĝ = g + weight_decay·w (L2), else g
//   m += mean_d(ĝ²);   μ = lr / (√m + eps);   w = c·w − μ·g
//   c = 1 − μ·weight_decay (L2), 1 − lr·weight_decay (DECOUPLE), 1 (NONE)
//   then, where max_norm > 0 and ‖w‖₂ > max_norm:  w ·= max_norm / ‖w‖₂
#include "optim/rules/rule.h"
#include "optim/rules/weight_decay.h"

namespace tessera {

struct RowwiseAdagrad {
  float lr = 0.01f;
  float eps = 1e-8f;
  float weight_decay = 0;
  WeightDecayMode weight_decay_mode = WeightDecayMode::kNone;  // not kAdagradW
  float max_norm = 0;

  static constexpr const char* kName = "rowwise_adagrad";
  StateSpecs States() const { return {{"momentum1", true}}; }

  struct Step {
    static constexpr int kStatistics = 1, kElementStates = 0, kRowStates = 1;
    float lr, eps, weight_decay;
    WeightDecayMode mode;
    float max_norm;

    struct Row {
      float keep, step;
    };
    template <typename Real>
    TESSERA_HD void Statistics(RowElement<Real> x, Real* terms) const {
      if (mode == WeightDecayMode::kL2) x.g = x.g + Real(weight_decay) * x.w;
      terms[0] = x.g * x.g;
    }
    TESSERA_HD Row BeginRow(const float* sums, int64_t dim, float* state) const {
      state[0] += sums[0] / static_cast<float>(dim);
      const float step = lr / (Sqrt(state[0]) + eps);
      if (mode == WeightDecayMode::kL2) return {1.0f - step * weight_decay, step};
      if (mode == WeightDecayMode::kDecouple) return {1.0f - lr * weight_decay, step};
      return {1.0f, step};
    }
    template <typename Real>
    TESSERA_HD void Update(const Row& row, RowElement<Real>& x, Real*) const {
      x.w = Real(row.keep) * x.w - Real(row.step) * x.g;
    }
  };
  Step AtStep(int64_t) const { return {lr, eps, weight_decay, weight_decay_mode, max_norm}; }
};

}  // namespace tessera
#endif  // TESSERA_OPTIM_RULES_ROWWISE_ADAGRAD_H_
