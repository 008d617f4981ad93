#ifndef TESSERA_OPTIM_RULES_COWCLIP_ROWWISE_ADAGRAD_H_
#define TESSERA_OPTIM_RULES_COWCLIP_ROWWISE_ADAGRAD_H_
// Row-wise Adagrad with cow-clip (Zheng et al. 2022, "CowClip"; FBGEMM's weight decay mode
// COWCLIP): a row's step is clipped by its norm and how often it came.
//
//   ĝ = g + weight_decay·w (L2), else g;   m += mean_d(ĝ²);   μ = lr/(√m + eps);   k: row_counter.h
//   α = μ·min(1, k·max(weight_norm_coefficient·‖w‖₂, lower_bound)/‖ĝ‖₂)
//   w = c·w − α·g,   c = 1 − weight_decay·lr (DECOUPLE), 1 − weight_decay·α (L2), 1 (NONE)
#include "optim/rules/row_counter.h"

namespace tessera {

struct CowClipRowwiseAdagrad {
  float lr = 0.01f;
  float eps = 1e-8f;
  float weight_decay = 0;
  WeightDecayMode weight_decay_mode = WeightDecayMode::kNone;  // not kAdagradW
  int64_t counter_halflife = -1;
  float weight_norm_coefficient = 0;
  float lower_bound = 0;

  static constexpr const char* kName = "cowclip_rowwise_adagrad";
  StateSpecs States() const { return CountedRowStates(); }

  struct Step {
    static constexpr int kStatistics = 2, kElementStates = 0, kRowStates = 3;
    float lr, eps, weight_decay;
    WeightDecayMode mode;
    int64_t halflife;
    float weight_norm_coefficient, lower_bound;
    int64_t t;

    struct Row {
      float keep, step;
    };
    template <typename Real>
    TESSERA_HD void Statistics(RowElement<Real> x, Real* terms) const {
      if (mode == WeightDecayMode::kL2) x.g = x.g + Real(weight_decay) * x.w;
      terms[0] = x.g * x.g;
      terms[1] = x.w * x.w;
    }
    TESSERA_HD Row BeginRow(const float* sums, int64_t dim, float* state) const {
      state[0] += sums[0] / static_cast<float>(dim);
      const float count = CountRow(t, halflife, state + 1).count;
      const float clip = count * Max(weight_norm_coefficient * Sqrt(sums[1]), lower_bound);
      const float step = lr / (Sqrt(state[0]) + eps) * Min(1.0f, clip / Sqrt(sums[0]));
      if (mode == WeightDecayMode::kL2) return {1.0f - weight_decay * step, step};
      if (mode == WeightDecayMode::kDecouple) return {1.0f - weight_decay * lr, step};
      return {1.0f, step};
    }
    template <typename Real>
    TESSERA_HD void Update(const Row& row, RowElement<Real>& x, Real*) const {
      x.w = Real(row.keep) * x.w - Real(row.step) * x.g;
    }
  };
  Step AtStep(int64_t t) const {
    return {lr,
            eps,
            weight_decay,
            weight_decay_mode,
            counter_halflife,
            weight_norm_coefficient,
            lower_bound,
            t};
  }
};

}  // namespace tessera
#endif  // TESSERA_OPTIM_RULES_COWCLIP_ROWWISE_ADAGRAD_H_
