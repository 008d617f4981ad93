#include "optim/dense_optimizer.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "optim/dense_step_impl.h"
#include "runtime/dispatch.h"
#include "runtime/math.h"

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

std::vector<std::string> StateNames(const DenseOptimizerConfig& c) {
  if (IsAdagrad(c)) return {"step", "sum"};
  if (!IsAdam(c))
    return c.momentum != 0 ? std::vector<std::string>{"momentum_buffer"}
                           : std::vector<std::string>{};
  std::vector<std::string> names = {"step", "exp_avg", "exp_avg_sq"};
  if (c.amsgrad) names.emplace_back("max_exp_avg_sq");
  return names;
}

// What step t computes with. Factors that depend on t are formed in double.
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

// A number that no step waits for.
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
  state_names_ = StateNames(config_);
  std::set<std::string> names;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    CheckParameter(parameters_[i], config_.name == "rowwise_adagrad");
    TESSERA_CHECK(names.insert(parameters_[i].name).second,
                  "optimizer: two parameters are named {}", parameters_[i].name);
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

DenseStepArgs DenseOptimizer::PrepareStep(Context& ctx, size_t parameter, const Tensor& gradient) {
  const Variable& variable = parameters_[parameter].variable;
  CheckDevice(ctx, "optimizer", variable.value(), gradient);
  Slots& slots = slots_[parameter];
  const bool has_state = !state_names_.empty(), first = has_state && !slots[0].defined();
  if (first) slots = InitialSlots(ctx, variable.shape());
  size_t slot = 0;
  int64_t t = 1;
  if (has_state && state_names_[0] == "step") {
    float* step = slots[slot++].data<float>();
    t = static_cast<int64_t>(*step += 1.0f);
  }
  DenseStepArgs args = Coefficients(config_, t);
  args.first = first;
  args.p = variable.value().data<float>();
  args.grad = gradient.data<float>();
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
  for (size_t i = 0; i < parameters_.size(); ++i) {
    if (!parameters_[i].variable.grad().defined()) continue;
    gradients.push_back(parameters_[i].variable.grad().Contiguous(ctx));
    steps.push_back(PrepareStep(ctx, i, gradients.back()));
  }
  DispatchDevice(ctx.device(),
                 [&](auto on) { internal::RunDenseStep(on, ctx, KindOf(config_), steps); });
}

void DenseOptimizer::ZeroGrad() {
  for (NamedParameter& parameter : parameters_) parameter.variable.ZeroGrad();
}

void DenseOptimizer::SetLearningRate(double lr) {
  TESSERA_CHECK(lr >= 0, "optimizer: learning rate {}", lr);
  config_.lr = lr;
}

std::vector<DenseOptimizerState> DenseOptimizer::States() const {
  std::vector<DenseOptimizerState> states;
  for (size_t i = 0; i < parameters_.size(); ++i)
    for (size_t slot = 0; slot < state_names_.size(); ++slot)
      if (slots_[i][slot])
        states.push_back({parameters_[i].name, state_names_[slot], slots_[i][slot]});
  return states;
}

size_t DenseOptimizer::SlotOf(const std::string& state) const {
  const auto found = std::find(state_names_.begin(), state_names_.end(), state);
  TESSERA_CHECK(found != state_names_.end(), "optimizer {}: there is no state \"{}\"", config_.name,
                state);
  return static_cast<size_t>(found - state_names_.begin());
}

void DenseOptimizer::LoadStates(Context& ctx, const std::vector<DenseOptimizerState>& states) {
  std::vector<Slots> loaded(parameters_.size());
  for (const DenseOptimizerState& s : states) {
    const auto found = std::find_if(parameters_.begin(), parameters_.end(),
                                    [&](const NamedParameter& p) { return p.name == s.parameter; });
    TESSERA_CHECK(found != parameters_.end(), "optimizer: state {} of an unknown parameter {}",
                  s.state, s.parameter);
    const size_t slot = SlotOf(s.state);
    const Shape expected = StateShape(slot, found->variable.shape());
    TESSERA_CHECK_EQ(s.tensor.shape(), expected, "optimizer: state {} of {}", s.state, s.parameter);
    TESSERA_CHECK_EQ(s.tensor.dtype(), DType::kF32, "optimizer: state {} of {}", s.state,
                     s.parameter);
    Tensor& place = loaded[static_cast<size_t>(found - parameters_.begin())][slot];
    TESSERA_CHECK(!place.defined(), "optimizer: state {} of {} is given twice", s.state,
                  s.parameter);
    place = s.state == "step" ? HostScalar(s.tensor.ToVector<float>()[0]) : s.tensor.Clone(ctx);
  }
  for (size_t i = 0; i < loaded.size(); ++i) {
    const auto end = loaded[i].begin() + static_cast<std::ptrdiff_t>(state_names_.size());
    const auto missing =
        std::find_if(loaded[i].begin(), end, [](const Tensor& t) { return !t.defined(); });
    const bool all_missing =
        std::none_of(loaded[i].begin(), end, [](const Tensor& t) { return t.defined(); });
    TESSERA_CHECK(missing == end || all_missing, "optimizer: state {} of {} is missing",
                  state_names_[static_cast<size_t>(missing - loaded[i].begin())],
                  parameters_[i].name);
    if (all_missing && IsAdagrad(config_))
      loaded[i] = InitialSlots(ctx, parameters_[i].variable.shape());
  }
  slots_ = std::move(loaded);
}

}  // namespace tessera
