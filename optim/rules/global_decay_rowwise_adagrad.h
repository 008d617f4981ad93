#ifndef TESSERA_OPTIM_RULES_GLOBAL_DECAY_ROWWISE_ADAGRAD_H_
#define TESSERA_OPTIM_RULES_GLOBAL_DECAY_ROWWISE_ADAGRAD_H_
// Row-wise Adagrad with global weight decay (FBGEMM's DECOUPLE_GLOBAL): every row decays in every
// step, but the decay of rows that are not touched is only made up for when they come again.
//
//   f = 1 if prev_iter = 0, else max(lower_bound, (1 − lr·weight_decay)^max(t − prev_iter − 1, 0))
//   the forward reads f·w;  the update starts from f·w:
//   m += mean_d(g²);   w = (1 − lr·weight_decay)·f·w − lr/(√m + eps)·g;   prev_iter = t
//   then, where max_norm > 0 and ‖w‖₂ > max_norm:  w ·= max_norm / ‖w‖₂
//
// Before start_iter f is 1 and prev_iter is left alone. The gradient of per-sample weights reads w
// as it is stored, without f, as FBGEMM's does.
#include "optim/rules/rule.h"

namespace tessera {

// f of one step, which the forward needs too.
struct OwedDecay {
  double keep;  // 1 − lr·weight_decay
  float lower_bound;
  int64_t t;
  bool active;
  TESSERA_HD float Factor(float prev_iter) const {
    if (!active || prev_iter == 0.0f) return 1.0f;
    const int64_t missed = t - static_cast<int64_t>(prev_iter) - 1;
    return Max(lower_bound, static_cast<float>(PowInteger(keep, missed > 0 ? missed : 0)));
  }
};

struct GlobalDecayRowwiseAdagrad {
  float lr = 0.01f;
  float eps = 1e-8f;
  float weight_decay = 0;
  float max_norm = 0;
  int64_t start_iter = 0;
  float lower_bound = 0;

  static constexpr const char* kName = "global_decay_rowwise_adagrad";
  StateSpecs States() const { return {{"momentum1", true}, {"prev_iter", true, true}}; }
  OwedDecay OwedAt(int64_t t) const {
    return {1.0 - double{lr} * double{weight_decay}, lower_bound, t, t >= start_iter};
  }

  struct Step {
    static constexpr int kStatistics = 1, kElementStates = 0, kRowStates = 2;
    float lr, eps, keep, max_norm;
    OwedDecay owed;

    struct Row {
      float keep, step;
    };
    template <typename Real>
    TESSERA_HD void Statistics(RowElement<Real> x, Real* terms) const {
      terms[0] = x.g * x.g;
    }
    TESSERA_HD Row BeginRow(const float* sums, int64_t dim, float* state) const {
      state[0] += sums[0] / static_cast<float>(dim);
      const float factor = owed.Factor(state[1]);
      if (owed.active) state[1] = static_cast<float>(owed.t);
      return {keep * factor, lr / (Sqrt(state[0]) + eps)};
    }
    template <typename Real>
    TESSERA_HD void Update(const Row& row, RowElement<Real>& x, Real*) const {
      x.w = Real(row.keep) * x.w - Real(row.step) * x.g;
    }
  };
  Step AtStep(int64_t t) const {
    const OwedDecay owed = OwedAt(t);
    return {lr, eps, static_cast<float>(owed.keep), max_norm, owed};
  }
};

}  // namespace tessera
#endif  // TESSERA_OPTIM_RULES_GLOBAL_DECAY_ROWWISE_ADAGRAD_H_
