#ifndef TESSERA_OPTIM_RULES_ROWWISE_RMSPROP_AR_H_
#define TESSERA_OPTIM_RULES_ROWWISE_RMSPROP_AR_H_
// Row-wise RMSprop with adaptive regularization (FBGEMM's ROWWISE_RMSPROP_AR): rows that come
// seldom shrink by the time since they last came.
//
//   v = ema_beta·v + (1 − ema_beta)·mean_d(g²)
//   Δ = 1 if the row is new, else t − prev_iter;   λ = clip(lr·ar_alpha·Δ, 0, 1)
//   w = max(min_shrinkage, 1 − λ)·w − lr/(√v + eps)·g;   prev_iter = t
#include "optim/rules/adam_moments.h"

namespace tessera {

struct RowwiseRmspropAr {
  float lr = 0.01f;
  float eps = 1e-8f;
  double ema_beta = 0.99;
  float ar_alpha = 0;
  float min_shrinkage = 0.1f;

  static constexpr const char* kName = "rowwise_rmsprop_ar";
  StateSpecs States() const { return {{"momentum1", true}, {"prev_iter", true, true}}; }

  struct Step {
    static constexpr int kStatistics = 1, kElementStates = 0, kRowStates = 2;
    float lr, eps;
    AdamMoment square;
    float ar_alpha, min_shrinkage, t;

    struct Row {
      float keep, step;
    };
    template <typename Real>
    TESSERA_HD void Statistics(RowElement<Real> x, Real* terms) const {
      terms[0] = x.g * x.g;
    }
    TESSERA_HD Row BeginRow(const float* sums, int64_t dim, float* state) const {
      state[0] = square.Next(state[0], sums[0] / static_cast<float>(dim));
      const float since = state[1] == 0.0f ? 1.0f : t - state[1];
      const float shrink = Min(Max(lr * ar_alpha * since, 0.0f), 1.0f);
      state[1] = t;
      return {Max(min_shrinkage, 1.0f - shrink), lr / (Sqrt(state[0]) + eps)};
    }
    template <typename Real>
    TESSERA_HD void Update(const Row& row, RowElement<Real>& x, Real*) const {
      x.w = Real(row.keep) * x.w - Real(row.step) * x.g;
    }
  };
  Step AtStep(int64_t t) const {
    return {lr, eps, AdamMoment::Of(ema_beta), ar_alpha, min_shrinkage, static_cast<float>(t)};
  }
};

}  // namespace tessera
#endif  // TESSERA_OPTIM_RULES_ROWWISE_RMSPROP_AR_H_
