#include "optim/warmup_schedule.h"

#include <cmath>
#include <limits>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/numbers/math.h"

namespace tessera {
namespace {

const std::pair<WarmupPolicy, const char*> kNames[] = {
    {WarmupPolicy::kNone, "none"},
    {WarmupPolicy::kLinear, "linear"},
    {WarmupPolicy::kConstant, "constant"},
    {WarmupPolicy::kPoly, "poly"},
    {WarmupPolicy::kStep, "step"},
    {WarmupPolicy::kInvSqrt, "inv_sqrt"},
    {WarmupPolicy::kCosineAnnealingWarmRestarts, "cosine_annealing_warm_restarts"},
    {WarmupPolicy::kInterpolate, "interpolate"}};

void CheckStage(const WarmupStage& s, size_t index, int64_t previous_max) {
  const auto where = [&] { return Format("warmup stage {} ({})", index, s.policy); };
  TESSERA_CHECK(s.max_iters > previous_max,
                "{}: max_iters {}; expected more than {}, the end of what is before it", where(),
                s.max_iters, previous_max);
  TESSERA_CHECK(std::isfinite(s.value) && std::isfinite(s.lr_scale) && std::isfinite(s.end_value),
                "{}: value {}, lr_scale {}, end_value {}; expected finite numbers", where(),
                s.value, s.lr_scale, s.end_value);
  TESSERA_CHECK(s.policy != WarmupPolicy::kInvSqrt || index > 0,
                "{}: it can't be the first stage, where 1/√i has i = 0", where());
  TESSERA_CHECK(s.policy != WarmupPolicy::kCosineAnnealingWarmRestarts || s.sgdr_period >= 1,
                "{}: sgdr_period {}; expected at least 1", where(), s.sgdr_period);
  TESSERA_CHECK(
      s.policy != WarmupPolicy::kInterpolate || s.start_interpolating_iters != s.max_iters,
      "{}: start_interpolating_iters and max_iters are both {}", where(), s.max_iters);
}

double Power(double base, double exponent) {
  return base > 0 ? Pow(base, exponent) : std::pow(base, exponent);
}

double Multiplier(const WarmupStage& s, int64_t iteration) {
  const auto i = static_cast<double>(iteration), most = static_cast<double>(s.max_iters),
             start = static_cast<double>(s.start_interpolating_iters);
  switch (s.policy) {
    case WarmupPolicy::kNone:
      break;
    case WarmupPolicy::kLinear:
      return s.value + (1 - s.value) * i / most;
    case WarmupPolicy::kConstant:
      return s.value;
    case WarmupPolicy::kPoly:
      return Power(1 - i / static_cast<double>(s.decay_iters), s.value);
    case WarmupPolicy::kStep:
      return PowInteger(s.value, iteration / s.decay_iters);
    case WarmupPolicy::kInvSqrt:
      return 1 / std::sqrt(i);
    case WarmupPolicy::kCosineAnnealingWarmRestarts: {
      const double done =
          static_cast<double>(iteration % s.sgdr_period) / static_cast<double>(s.sgdr_period);
      return s.value + (1 - s.value) * 0.5 * (1 + CosPi(done));
    }
    case WarmupPolicy::kInterpolate:
      return s.value + (s.end_value - s.value) * (i - start) / (most - start);
  }
  return 1;
}

}  // namespace

std::string ToString(WarmupPolicy policy) {
  for (const auto& [value, name] : kNames)
    if (value == policy) return name;
  TESSERA_FAIL("no warmup policy {}", static_cast<int>(policy));
}

WarmupPolicy ParseWarmupPolicy(const std::string& text) {
  std::string known;
  for (const auto& [value, name] : kNames) {
    if (text == name) return value;
    known += (known.empty() ? "" : ", ") + std::string(name);
  }
  TESSERA_FAIL("warmup policy '{}': expected one of {}", text, known);
}

const std::vector<WarmupPolicy>& AllWarmupPolicies() {
  static const std::vector<WarmupPolicy> all = [] {
    std::vector<WarmupPolicy> policies;
    for (const auto& entry : kNames) policies.push_back(entry.first);
    return policies;
  }();
  return all;
}

WarmupSchedule::WarmupSchedule(std::vector<WarmupStage> stages) : stages_(std::move(stages)) {
  int64_t previous_max = 0;
  for (size_t i = 0; i < stages_.size(); ++i) {
    WarmupStage& s = stages_[i];
    CheckStage(s, i, std::exchange(previous_max, s.max_iters));
    if (s.decay_iters < 1) s.decay_iters = s.policy == WarmupPolicy::kStep ? 1 : s.max_iters;
  }
  stages_.push_back({.max_iters = std::numeric_limits<int64_t>::max()});
  multiplier_ = MultiplierAt(0, 0);
}

double WarmupSchedule::MultiplierAt(int64_t iteration, int64_t stage) const {
  const WarmupStage& s = stages_[static_cast<size_t>(stage)];
  const double multiplier = s.lr_scale * Multiplier(s, iteration);
  TESSERA_CHECK(std::isfinite(multiplier),
                "warmup stage {} ({}): the learning rate's factor at iteration {} is {}", stage,
                s.policy, iteration, multiplier);
  return multiplier;
}

void WarmupSchedule::CheckFactors() const {
  int64_t begin = 0;
  for (int64_t stage = 0; stage + 1 < std::ssize(stages_); ++stage) {
    const WarmupStage& s = stages_[static_cast<size_t>(stage)];
    for (const int64_t iteration : {begin, s.max_iters})
      TESSERA_CHECK(MultiplierAt(iteration, stage) >= 0,
                    "warmup stage {} ({}): the learning rate's factor at iteration {} is {}; "
                    "expected at least 0",
                    stage, s.policy, iteration, MultiplierAt(iteration, stage));
    begin = s.max_iters + 1;
  }
}

void WarmupSchedule::Step() {
  const bool next = iteration_ + 1 > stages_[static_cast<size_t>(stage_)].max_iters;
  SetPosition(iteration_ + 1, stage_ + (next ? 1 : 0));
}

void WarmupSchedule::SetPosition(int64_t iteration, int64_t stage) {
  TESSERA_CHECK(iteration >= 0 && stage >= 0 && stage < static_cast<int64_t>(stages_.size()),
                "warmup: iteration {} in stage {}, of {} stages", iteration, stage, stages_.size());
  multiplier_ = MultiplierAt(iteration, stage);
  iteration_ = iteration;
  stage_ = stage;
}

}  // namespace tessera
