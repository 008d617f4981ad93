#include "optim/dense_optimizer.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "optim/dense_state_names.h"
#include "optim/dense_step_impl.h"
#include "optim/state_dict.h"
#include "runtime/device/dispatch.h"
#include "runtime/numbers/math.h"
#include "runtime/recorded_step.h"

namespace tessera {
namespace {

using internal::DenseStepArgs;
using internal::DenseStepKind;

bool IsAdam(const DenseOptimizerConfig& c) { return c.name == "adam" || c.name == "adamw"; }
bool IsAdagrad(const DenseOptimizerConfig& c) {
  return c.name == "adagrad" || c.name == "rowwise_adagrad";
}

DenseStepKind KindOf(const DenseOptimizerConfig& c) {
  if (IsAdam(c)) return c.amsgrad ? DenseStepKind::kAdamAmsgrad : DenseStepKind::kAdam;
  if (IsAdagrad(c))
    return c.name == "adagrad" ? DenseStepKind::kAdagrad : DenseStepKind::kRowwiseAdagrad;
  return c.momentum != 0 ? DenseStepKind::kSgdMomentum : DenseStepKind::kSgd;
}

// The coefficients of step t. Factors that depend on t are formed in double.
DenseStepArgs Coefficients(const DenseOptimizerConfig& c, int64_t t) {
  DenseStepArgs a = {};
  const bool decoupled = c.name == "adamw";
  a.sign = c.maximize ? -1.0f : 1.0f;
  a.l2 = decoupled ? 0.0f : static_cast<float>(c.weight_decay);
  a.keep = decoupled ? static_cast<float>(1 - c.lr * c.weight_decay) : 1.0f;
  a.eps = static_cast<float>(c.eps);
  a.momentum = static_cast<float>(c.momentum);
  a.undampened = static_cast<float>(1 - c.dampening);
  a.nesterov = c.nesterov;
  a.beta1 = static_cast<float>(c.beta1);
  a.beta2 = static_cast<float>(c.beta2);
  a.rest1 = static_cast<float>(1 - c.beta1);
  a.rest2 = static_cast<float>(1 - c.beta2);
  double rate = c.lr;
  if (IsAdagrad(c)) rate /= 1 + static_cast<double>(t - 1) * c.lr_decay;
  if (IsAdam(c)) {
    rate /= 1 - PowInteger(c.beta1, t);
    a.root_correction = static_cast<float>(std::sqrt(1 - PowInteger(c.beta2, t)));
  }
  a.rate = static_cast<float>(rate);
  return a;
}

// A number on the host, for which no step has to wait.
Tensor HostScalar(float value) {
  Tensor t = Tensor::EmptyHost({});
  *t.data<float>() = value;
  return t;
}

void CheckParameter(const NamedParameter& p, bool rowwise) {
  const Tensor& value = p.variable.value();
  TESSERA_CHECK(p.variable.requires_grad(), "optimizer: parameter {} requires no gradient", p.name);
  TESSERA_CHECK_EQ(value.dtype(), DType::kF32, "optimizer: parameter {}", p.name);
  TESSERA_CHECK(value.is_contiguous(), "optimizer: parameter {} of shape {} is not contiguous",
                p.name, value.shape());
  TESSERA_CHECK(!rowwise || value.rank() == 2,
                "optimizer rowwise_adagrad: parameter {} of shape {} is no matrix", p.name,
                value.shape());
}

}  // namespace

DenseOptimizer::DenseOptimizer(Context& ctx, std::vector<NamedParameter> parameters,
                               DenseOptimizerConfig config)
    : parameters_(std::move(parameters)), config_(std::move(config)), slots_(parameters_.size()) {
  config_.Check();
  state_names_ = DenseStateNames(config_);
  internal::CheckKeysAreUnique(Keys());
  internal::CheckVariablesAreUnique(parameters_);
  for (size_t i = 0; i < parameters_.size(); ++i) {
    CheckParameter(parameters_[i], config_.name == "rowwise_adagrad");
    if (IsAdagrad(config_)) slots_[i] = InitialSlots(ctx, parameters_[i].variable.shape());
  }
}

Shape DenseOptimizer::StateShape(size_t slot, const Shape& parameter) const {
  if (state_names_[slot] == "step") return {};
  return config_.name == "rowwise_adagrad" ? Shape{parameter[0], 1} : parameter;
}

DenseOptimizer::Slots DenseOptimizer::InitialSlots(Context& ctx, const Shape& parameter) const {
  Slots slots;
  for (size_t i = 0; i < state_names_.size(); ++i) {
    if (state_names_[i] == "step") {
      slots[i] = HostScalar(0);
      continue;
    }
    slots[i] = Tensor::Full(ctx, StateShape(i, parameter),
                            state_names_[i] == "sum" ? config_.initial_accumulator_value : 0.0);
  }
  return slots;
}

bool DenseOptimizer::CountsSteps() const {
  return !state_names_.empty() && state_names_[0] == "step";
}

void DenseOptimizer::CountStep(size_t parameter) {
  if (CountsSteps()) *slots_[parameter][0].data<float>() += 1.0f;
}

bool DenseOptimizer::BeginStep(Context& ctx, size_t parameter, const Tensor& gradient) {
  const auto& [name, variable] = parameters_[parameter];
  CheckDevice(ctx, "optimizer", variable.value(), gradient);
  Slots& slots = slots_[parameter];
  const bool first = !state_names_.empty() && !slots[0].defined();
  if (first) {
    CheckIsNotRecording(ctx, Format("the first step of optimizer {} on {}", config_.name, name),
                        "each launch would begin with new states; take a step before");
    slots = InitialSlots(ctx, variable.shape());
  }
  if (CountsSteps() && IsRecording(ctx))
    RepeatOnLaunch(
        ctx, [this, parameter] { CountStep(parameter); },
        [step = slots[0].data<float>(), before = *slots[0].data<float>()] { *step = before; });
  CountStep(parameter);
  return first;
}

DenseStepArgs DenseOptimizer::StepOf(size_t parameter, const float* gradient) const {
  const Variable& variable = parameters_[parameter].variable;
  const Slots& slots = slots_[parameter];
  const size_t slot = CountsSteps() ? 1 : 0;
  const int64_t t = CountsSteps() ? static_cast<int64_t>(*slots[0].data<float>()) : 1;
  DenseStepArgs args = Coefficients(config_, t);
  args.p = variable.value().data<float>();
  args.grad = gradient;
  for (size_t i = slot; i < state_names_.size(); ++i) args.state[i - slot] = slots[i].data<float>();
  args.n = variable.value().numel();
  if (config_.name == "rowwise_adagrad") {
    args.dim = variable.dim(1);
    if (args.n > 0) args.n = variable.dim(0);
  }
  return args;
}

void DenseOptimizer::Step(Context& ctx) {
  std::vector<DenseStepArgs> steps;
  std::vector<Tensor> gradients;  // kept until the step has been given to the device
  std::vector<std::pair<size_t, const float*>> stepped;  // parameters and their gradients
  for (size_t i = 0; i < parameters_.size(); ++i) {
    if (!parameters_[i].variable.grad().defined()) continue;
    gradients.push_back(parameters_[i].variable.grad().Contiguous(ctx));
    const bool first = BeginStep(ctx, i, gradients.back());
    stepped.emplace_back(i, gradients.back().data<float>());
    steps.push_back(StepOf(i, stepped.back().second));
    steps.back().first = first;
  }
  internal::DenseStepsAgain again;
  if (IsRecording(ctx))
    again = [this, stepped] {
      std::vector<DenseStepArgs> next;
      for (const auto& [parameter, gradient] : stepped) next.push_back(StepOf(parameter, gradient));
      return next;
    };
  DispatchDevice(ctx.device(),
                 [&](auto on) { internal::RunDenseStep(on, ctx, KindOf(config_), steps, again); });
}

void DenseOptimizer::ZeroGrad() {
  for (NamedParameter& parameter : parameters_) parameter.variable.ZeroGrad();
}

std::vector<std::string> DenseOptimizer::Keys() const {
  std::vector<std::string> keys;
  for (const NamedParameter& p : parameters_) keys.push_back(p.name);
  return keys;
}

std::vector<ParamGroup> DenseOptimizer::ParamGroups() const {
  ParamGroup group{Keys(), {}};
  std::sort(group.parameters.begin(), group.parameters.end());
  for (const std::string& option : config_.Options())
    group.options.emplace_back(option, config_.Get(option));
  return {group};
}

double DenseOptimizer::GroupLearningRate(int group) const {
  internal::CheckGroup(group, num_groups());
  return config_.lr;
}

void DenseOptimizer::SetGroupLearningRate(int group, double lr) {
  internal::CheckGroup(group, num_groups());
  SetLearningRate(lr);
}

void DenseOptimizer::SetLearningRate(double lr) {
  internal::CheckLearningRate(lr);
  config_.lr = lr;
}

bool DenseOptimizer::HasState(size_t parameter) const {
  return !state_names_.empty() && slots_[parameter][0].defined();
}

OptimizerStateDict DenseOptimizer::StateDict() const {
  OptimizerStateDict state;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    if (!HasState(i)) continue;
    for (size_t slot = 0; slot < state_names_.size(); ++slot)
      state[parameters_[i].name][state_names_[slot]] = slots_[i][slot];
  }
  return state;
}

void DenseOptimizer::CheckStateDict(const OptimizerStateDict& state) const {
  internal::CheckHasOnlyKeys(state, Keys());
  std::vector<std::string> required;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const auto& [name, variable] = parameters_[i];
    if (HasState(i)) required.push_back(name);
    const auto given = state.find(name);
    if (given == state.end()) continue;
    std::vector<internal::ExpectedState> expected;
    for (size_t slot = 0; slot < state_names_.size(); ++slot)
      expected.push_back({state_names_[slot], StateShape(slot, variable.shape())});
    internal::CheckStatesOf(name, given->second, expected);
  }
  internal::CheckHasKeys(state, required);
}

DenseOptimizer::Slots DenseOptimizer::LoadedSlots(
    Context& ctx, const std::map<std::string, Tensor>& states) const {
  Slots slots;
  for (size_t slot = 0; slot < state_names_.size(); ++slot) {
    const Tensor& given = states.at(state_names_[slot]);
    slots[slot] =
        state_names_[slot] == "step" ? HostScalar(given.ToVector<float>()[0]) : given.Clone(ctx);
  }
  return slots;
}

void DenseOptimizer::LoadStateDict(Context& ctx, const OptimizerStateDict& state) {
  CheckStateDict(state);
  std::vector<Slots> loaded(parameters_.size());
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const auto given = state.find(parameters_[i].name);
    if (given != state.end() && !state_names_.empty()) loaded[i] = LoadedSlots(ctx, given->second);
  }
  slots_ = std::move(loaded);
}

}  // namespace tessera
