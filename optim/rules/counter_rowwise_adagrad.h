#ifndef TESSERA_OPTIM_RULES_COUNTER_ROWWISE_ADAGRAD_H_
#define TESSERA_OPTIM_RULES_COUNTER_ROWWISE_ADAGRAD_H_
// Row-wise Adagrad whose rate and decay depend on how often a row came (FBGEMM's weight decay mode
// COUNTER, its kernel rowwise_adagrad_with_counter):
//
//   ĝ = g + weight_decay·w (L2), else g;   m += mean_d(ĝ²);   μ = lr/(√m + eps)
//   k, Δ: row_counter.h;   freq = counter_halflife/k;   α = μ, c = 1;   w = c·w − α·g, where,
//   if adjustment_iter ≤ 0 or t > adjustment_iter:
//     k > θ (tail_id_threshold, or ⌊that·max_counter⌋ if tail_id_threshold_is_ratio):
//       TAIL_ID_LR_INCREASE  α = μ·clip((max_counter/(k + 1))^adjustment_ub, 1, 10)
//       TAIL_ID_LR_DECREASE  α = μ·clip(((k + 1)/max_counter)^adjustment_ub, 0.1, 1)
//       COUNTER_SGD          α = lr/(√(adjustment_ub·k) + eps)
//     DECOUPLE c = 1 − freq·weight_decay·lr;   L2 c = 1 − freq·weight_decay·μ
//     ADAGRADW α = μ·√k (halflife −1), min(lr·k, adjustment_ub)/(√m + eps) (−2), else as above;
//              c = 1 − weight_decay·lr;  z = c^(min(Δ, t − adjustment_iter) − 1);  α ·= z, c ·= z
//
// max_counter is the largest row_counter of all tables of a module, plus 1, taken anew in every
// step that max_counter_update_freq divides (if above 0); TableBatchedEmbedding keeps it.
#include <string>

#include "optim/rules/row_counter.h"

namespace tessera {

enum class CounterRateMode { kEqual, kTailIdLrIncrease, kTailIdLrDecrease, kCounterSgd };
std::string ToString(CounterRateMode mode);  // "EQUAL", "TAIL_ID_LR_INCREASE", …
CounterRateMode ParseCounterRateMode(const std::string& name);

struct CounterRowwiseAdagrad {
  float lr = 0.01f;
  float eps = 1e-8f;
  float weight_decay = 0;
  WeightDecayMode weight_decay_mode = WeightDecayMode::kNone;
  CounterRateMode learning_rate_mode = CounterRateMode::kEqual;
  int64_t counter_halflife = -1;
  int64_t adjustment_iter = -1;
  double adjustment_ub = 1;
  float tail_id_threshold = 0;
  bool tail_id_threshold_is_ratio = false;
  int64_t max_counter_update_freq = 1000;
  float max_counter = 1;

  static constexpr const char* kName = "counter_rowwise_adagrad";
  StateSpecs States() const { return CountedRowStates(); }

  struct Step {
    static constexpr int kStatistics = 1, kElementStates = 0, kRowStates = 3;
    float lr, eps, weight_decay;
    WeightDecayMode mode;
    CounterRateMode rate_mode;
    int64_t halflife, adjustment_iter;
    double adjustment_ub;
    float threshold, max_counter;
    int64_t t;

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
      const RowCount row = CountRow(t, halflife, state + 1);
      const float denominator = Sqrt(state[0]) + eps, step = lr / denominator;
      if (adjustment_iter > 0 && t <= adjustment_iter) return {1.0f, step};
      return Decayed(row, denominator, row.count > threshold ? TailStep(row.count, step) : step,
                     step);
    }
    template <typename Real>
    TESSERA_HD void Update(const Row& row, RowElement<Real>& x, Real*) const {
      x.w = Real(row.keep) * x.w - Real(row.step) * x.g;
    }

   private:
    TESSERA_HD float Power(float ratio) const {
      return static_cast<float>(Pow(double{ratio}, adjustment_ub));
    }
    TESSERA_HD float TailStep(float count, float step) const {
      if (rate_mode == CounterRateMode::kTailIdLrIncrease)
        return step * Min(Max(Power(max_counter / (count + 1.0f)), 1.0f), 10.0f);
      if (rate_mode == CounterRateMode::kTailIdLrDecrease)
        return step * Min(Max(Power((count + 1.0f) / max_counter), 0.1f), 1.0f);
      if (rate_mode == CounterRateMode::kCounterSgd)
        return lr / (Sqrt(static_cast<float>(adjustment_ub) * count) + eps);
      return step;
    }
    TESSERA_HD Row Decayed(const RowCount& row, float denominator, float step, float plain) const {
      const float frequency = static_cast<float>(halflife) / row.count;
      if (mode == WeightDecayMode::kDecouple) return {1.0f - frequency * weight_decay * lr, step};
      if (mode == WeightDecayMode::kL2) return {1.0f - frequency * weight_decay * plain, step};
      if (mode != WeightDecayMode::kAdagradW) return {1.0f, step};
      if (halflife == -1) step = plain * Sqrt(row.count);
      if (halflife == -2)
        step = Min(lr * row.count, static_cast<float>(adjustment_ub)) / denominator;
      const float keep = 1.0f - weight_decay * lr;
      const float after = static_cast<float>(t - adjustment_iter);
      const auto missed = static_cast<int64_t>(Min(row.since, after)) - 1;
      const float owed = static_cast<float>(PowInteger(double{keep}, missed > 0 ? missed : 0));
      return {keep * owed, step * owed};
    }
  };
  Step AtStep(int64_t t) const;
};

}  // namespace tessera
#endif  // TESSERA_OPTIM_RULES_COUNTER_ROWWISE_ADAGRAD_H_
