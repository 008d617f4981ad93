#include "optim/warmup_optimizer.h"

#include "optim/state_dict.h"
#include "runtime/recorded_step.h"

namespace tessera {
namespace {

constexpr char kState[] = "warmup";

}  // namespace

WarmupOptimizer::WarmupOptimizer(std::shared_ptr<Optimizer> optimizer,
                                 std::vector<WarmupStage> stages, std::optional<double> base_lr,
                                 std::string key)
    : OptimizerWrapper(std::move(optimizer)),
      schedule_(std::move(stages)),
      base_lr_(base_lr),
      key_(std::move(key)) {
  internal::CheckKeysAreUnique(Keys());
  if (base_lr_) internal::CheckLearningRate(*base_lr_);
  for (int g = 0; g < num_groups(); ++g) group_base_.push_back(GroupLearningRate(g));
  SetRates();
}

void WarmupOptimizer::SetRates() {
  if (base_lr_) return SetLearningRate(schedule_.LearningRate(*base_lr_));
  for (size_t g = 0; g < group_base_.size(); ++g)
    SetGroupLearningRate(static_cast<int>(g), schedule_.LearningRate(group_base_[g]));
}

void WarmupOptimizer::Step(Context& ctx) {
  WarmupSchedule next = schedule_;
  next.Step();
  OptimizerWrapper::Step(ctx);
  const auto to = [this](WarmupSchedule schedule) {
    schedule_ = std::move(schedule);
    SetRates();
  };
  RepeatOnLaunch(
      ctx,
      [this, to] {
        WarmupSchedule following = schedule_;
        following.Step();
        to(std::move(following));
      },
      [to, before = schedule_] { to(before); });
  to(std::move(next));
}

std::vector<std::string> WarmupOptimizer::Keys() const {
  std::vector<std::string> keys = OptimizerWrapper::Keys();
  keys.push_back(key_);
  return keys;
}

Tensor WarmupOptimizer::Position() const {
  const Tensor position = Tensor::EmptyHost({2}, DType::kI64);
  position.span<int64_t>()[0] = schedule_.iteration();
  position.span<int64_t>()[1] = schedule_.stage();
  return position;
}

WarmupSchedule WarmupOptimizer::ScheduleAt(const Tensor& position) const {
  internal::CheckStatesOf(key_, {{kState, position}}, {{{kState, {2}, DType::kI64}}});
  const std::vector<int64_t> values = position.ToVector<int64_t>();
  WarmupSchedule schedule = schedule_;
  schedule.SetPosition(values[0], values[1]);
  return schedule;
}

void WarmupOptimizer::SetPosition(const Tensor& position) {
  schedule_ = ScheduleAt(position);
  SetRates();
}

OptimizerStateDict WarmupOptimizer::StateDict() const {
  OptimizerStateDict state = OptimizerWrapper::StateDict();
  state[key_] = {{kState, Position()}};
  return state;
}

void WarmupOptimizer::CheckStateDict(const OptimizerStateDict& state) const {
  internal::CheckHasKeys(state, {key_});
  OptimizerStateDict rest = state;
  const auto own = rest.extract(key_);
  internal::CheckStatesOf(key_, own.mapped(), {{{kState, {2}, DType::kI64}}});
  ScheduleAt(own.mapped().at(kState));
  OptimizerWrapper::CheckStateDict(rest);
}

void WarmupOptimizer::LoadStateDict(Context& ctx, const OptimizerStateDict& state) {
  CheckStateDict(state);
  OptimizerStateDict rest = state;
  const auto own = rest.extract(key_);
  OptimizerWrapper::LoadStateDict(ctx, rest);
  SetPosition(own.mapped().at(kState));
}

}  // namespace tessera
