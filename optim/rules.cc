// Names of the rules' modes, and the factors that depend on the step alone.
#include <array>
#include <cmath>
#include <utility>

#include "optim/any_rule.h"
#include "runtime/base/check.h"

namespace tessera {
namespace {

template <typename Mode, size_t kCount>
using ModeNames = std::array<std::pair<Mode, const char*>, kCount>;

template <typename Mode, size_t kCount>
std::string NameOf(const ModeNames<Mode, kCount>& names, Mode mode) {
  for (const auto& [value, name] : names)
    if (value == mode) return name;
  TESSERA_FAIL("no mode {}", static_cast<int>(mode));
}

template <typename Mode, size_t kCount>
Mode ModeOf(const ModeNames<Mode, kCount>& names, const std::string& name, const char* what) {
  std::string known;
  for (const auto& [value, known_name] : names) {
    if (name == known_name) return value;
    known += (known.empty() ? "" : ", ") + std::string(known_name);
  }
  TESSERA_FAIL("{} '{}': expected one of {}", what, name, known);
}

constexpr ModeNames<WeightDecayMode, 4> kDecayNames = {{{WeightDecayMode::kNone, "NONE"},
                                                        {WeightDecayMode::kL2, "L2"},
                                                        {WeightDecayMode::kDecouple, "DECOUPLE"},
                                                        {WeightDecayMode::kAdagradW, "ADAGRADW"}}};
constexpr ModeNames<CounterRateMode, 4> kRateNames = {
    {{CounterRateMode::kEqual, "EQUAL"},
     {CounterRateMode::kTailIdLrIncrease, "TAIL_ID_LR_INCREASE"},
     {CounterRateMode::kTailIdLrDecrease, "TAIL_ID_LR_DECREASE"},
     {CounterRateMode::kCounterSgd, "COUNTER_SGD"}}};
constexpr ModeNames<EnsembleStepMode, 2> kStepNames = {
    {{EnsembleStepMode::kNone, "NONE"}, {EnsembleStepMode::kUseIter, "USE_ITER"}}};

}  // namespace

std::string ToString(WeightDecayMode mode) { return NameOf(kDecayNames, mode); }
WeightDecayMode ParseWeightDecayMode(const std::string& name) {
  return ModeOf(kDecayNames, name, "weight_decay_mode");
}
std::string ToString(CounterRateMode mode) { return NameOf(kRateNames, mode); }
CounterRateMode ParseCounterRateMode(const std::string& name) {
  return ModeOf(kRateNames, name, "learning_rate_mode");
}
std::string ToString(EnsembleStepMode mode) { return NameOf(kStepNames, mode); }
EnsembleStepMode ParseEnsembleStepMode(const std::string& name) {
  return ModeOf(kStepNames, name, "step_mode");
}

CounterRowwiseAdagrad::Step CounterRowwiseAdagrad::AtStep(int64_t t) const {
  Step step;
  step.lr = lr;
  step.eps = eps;
  step.weight_decay = weight_decay;
  step.mode = weight_decay_mode;
  step.rate_mode = learning_rate_mode;
  step.halflife = counter_halflife;
  step.adjustment_iter = adjustment_iter;
  step.adjustment_ub = adjustment_ub;
  step.threshold =
      tail_id_threshold_is_ratio ? std::floor(tail_id_threshold * max_counter) : tail_id_threshold;
  step.max_counter = max_counter;
  step.t = t;
  return step;
}

TableSweep EnsembleRowwiseAdagrad::SweepAt(int64_t t) const {
  TableSweep sweep;
  sweep.ema = t % step_ema == 0;
  sweep.swap = t % step_swap == 0;
  sweep.clear = sweep.ema && step_mode == EnsembleStepMode::kNone;
  sweep.follow = 1.0f - (t <= step_start ? 0.0f : step_ema_coef);
  return sweep;
}

TableSweep EmaInPlaceRowwiseAdagrad::SweepAt(int64_t t) const {
  TableSweep sweep;
  sweep.halves = t >= step_start && t % step_ema == 0;
  sweep.coef = step_ema_coef;
  return sweep;
}

}  // namespace tessera
