// Kind `dense_optim`: optimizers of ordinary variables; clipping, schedules and combinations of
// them.
#include <limits>
#include <set>

#include "optim/combined_optimizer.h"
#include "optim/gradient_clipping_optimizer.h"
#include "optim/warmup_optimizer.h"
#include "tests/conformance/dense_modules.h"
#include "tests/conformance/kinds.h"
#include "tests/conformance/warmup_stages.h"

namespace tessera::conformance {
namespace {

using Skipped = std::set<std::pair<int64_t, std::string>>;

Skipped ReadSkipped(const Case& c) {
  Skipped skipped;
  if (c.attrs.contains("skip"))
    for (const Json& pair : c.attrs.at("skip"))
      skipped.emplace(pair.at(0).get<int64_t>(), pair.at(1).get<std::string>());
  return skipped;
}

// in.param.<prefix><name> as parameters.
std::vector<NamedParameter> ReadParameters(Context& ctx, const Case& c, const Json& names,
                                           const std::string& prefix = "") {
  std::vector<NamedParameter> parameters;
  for (const Json& json : names) {
    const std::string name = json.get<std::string>();
    // Cases that expect an error bring no tensors.
    const Tensor given = c.optional("param." + prefix + name);
    parameters.push_back({name, Variable(given ? given.Clone(ctx) : Tensor::Zeros(ctx, {1}),
                                         /*requires_grad=*/true)});
  }
  return parameters;
}

std::shared_ptr<DenseOptimizer> MakeOptimizer(Context& ctx,
                                              const std::vector<NamedParameter>& parameters,
                                              const Json& described) {
  return std::make_shared<DenseOptimizer>(
      ctx, parameters,
      ReadDenseOptimizer(described.at("optimizer").get<std::string>(),
                         described.value("hyper", Json::object())));
}

// Gives every parameter in.grad.<prefix><name> of this step.
void SetGradients(Context& ctx, const Case& c, std::vector<NamedParameter>& parameters,
                  int64_t step, const std::string& prefix = "", const Skipped& skipped = {}) {
  for (NamedParameter& p : parameters) {
    if (skipped.contains({step, p.name})) continue;
    const Tensor all = c.input("grad." + prefix + p.name);
    p.variable.AccumulateGrad(ctx, all.Rows(step, step + 1).Clone(ctx).Reshape(p.variable.shape()));
  }
}

Shape WithSteps(const Shape& shape, int64_t steps) {
  std::vector<int64_t> dims = {steps};
  dims.insert(dims.end(), shape.dims().begin(), shape.dims().end());
  return Shape(std::span<const int64_t>(dims));
}

// Answers of the form [steps, …].
class History {
 public:
  History(Context& ctx, int64_t steps, Answer& answer)
      : ctx_(ctx), steps_(steps), answer_(answer) {}

  // Zeros where `value` is undefined.
  void Add(const std::string& name, int64_t step, const Tensor& value, const Shape& shape) {
    Tensor& all = answer_.tensors[name];
    if (!all.defined()) all = Tensor::Zeros(ctx_, WithSteps(shape, steps_));
    if (value.defined())
      all.Rows(step, step + 1).CopyFrom(ctx_, value.Contiguous(ctx_).Reshape(WithSteps(shape, 1)));
  }

 private:
  Context& ctx_;
  int64_t steps_;
  Answer& answer_;
};

void AddState(const Optimizer& optimizer, Answer& answer) {
  for (const auto& [key, states] : optimizer.StateDict())
    for (const auto& [name, tensor] : states) answer.tensors["state." + key + "." + name] = tensor;
}

std::shared_ptr<GradientClippingOptimizer> Clipped(std::shared_ptr<Optimizer> optimizer,
                                                   const Json& clipping) {
  GradientClippingOptions options;
  const std::string mode = clipping.at("mode").get<std::string>();
  for (const GradientClipping m :
       {GradientClipping::kNone, GradientClipping::kNorm, GradientClipping::kValue})
    if (mode == ToString(m)) options.mode = m;
  if (mode != ToString(options.mode)) throw Unsupported("clipping mode " + mode);
  options.max_gradient = clipping.value("max_gradient", options.max_gradient);
  if (clipping.contains("norm_type"))
    options.norm_type = clipping.at("norm_type").is_string()
                            ? std::numeric_limits<double>::infinity()
                            : clipping.at("norm_type").get<double>();
  return std::make_shared<GradientClippingOptimizer>(std::move(optimizer), options);
}

Answer RunOptimizer(Context& ctx, const Case& c) {
  const int64_t steps = c.attrs.at("steps").get<int64_t>();
  const Skipped skipped = ReadSkipped(c);
  Answer answer;
  History history(ctx, steps, answer);
  std::vector<NamedParameter> parameters = ReadParameters(ctx, c, c.attrs.at("params"));
  std::shared_ptr<Optimizer> optimizer = MakeOptimizer(ctx, parameters, c.attrs);
  std::shared_ptr<GradientClippingOptimizer> clipped;
  if (c.attrs.contains("clipping")) {
    clipped = Clipped(optimizer, c.attrs.at("clipping"));
    optimizer = clipped;
  }
  for (int64_t step = 0; step < steps; ++step) {
    optimizer->ZeroGrad();
    SetGradients(ctx, c, parameters, step, "", skipped);
    optimizer->Step(ctx);
    for (const NamedParameter& p : parameters) {
      history.Add("param." + p.name, step, p.variable.value(), p.variable.shape());
      if (clipped)
        history.Add("clipped_grad." + p.name, step, p.variable.grad(), p.variable.shape());
    }
    if (clipped && clipped->total_norm().defined())
      history.Add("total_norm", step, clipped->total_norm().To(ctx, DType::kF32), {});
  }
  AddState(*optimizer, answer);
  return answer;
}

Answer RunWarmup(Context& ctx, const Case& c) {
  const int64_t steps = c.attrs.at("steps").get<int64_t>();
  std::vector<NamedParameter> parameters = ReadParameters(ctx, c, c.attrs.at("params"));
  WarmupOptimizer optimizer(MakeOptimizer(ctx, parameters, c.attrs),
                            ReadWarmupStages(c.attrs.at("stages")), c.attrs.at("lr").get<double>());
  std::vector<double> rates = {optimizer.GroupLearningRate(0)};
  std::vector<int64_t> positions;
  for (int64_t step = 0; step < steps; ++step) {
    optimizer.ZeroGrad();
    SetGradients(ctx, c, parameters, step);
    optimizer.Step(ctx);
    rates.push_back(optimizer.GroupLearningRate(0));
    const Tensor position = optimizer.StateDict().at(kWarmupKey).at("warmup");
    for (const int64_t value : position.ToVector<int64_t>()) positions.push_back(value);
  }
  Answer answer;
  answer.tensors["lr"] = Tensor::From(ctx, rates);
  answer.tensors["warmup_state"] = Tensor::From(ctx, {steps, 2}, positions);
  for (const NamedParameter& p : parameters) answer.tensors["param." + p.name] = p.variable.value();
  return answer;
}

// Whether torch alone has the option; such options are ignored.
bool IsTorchsAlone(const std::string& option) {
  static const std::set<std::string> names = {"foreach", "capturable", "differentiable", "fused",
                                              "decoupled_weight_decay"};
  return names.contains(option);
}

Json GroupToJson(const ParamGroup& group) {
  Json json = {{"params", group.parameters}};
  for (const auto& [name, value] : group.options) json[name] = value;
  if (json.contains("beta1")) json["betas"] = {json["beta1"], json["beta2"]};
  return json;
}

// A flag is 0 or 1 on our side.
bool SameOption(const Json& got, const Json& expected) {
  return expected.is_boolean() ? got == (expected.get<bool>() ? 1.0 : 0.0) : got == expected;
}

void CheckGroups(const std::vector<ParamGroup>& groups, const Json& expected) {
  TESSERA_CHECK_EQ(groups.size(), expected.size(), "param groups");
  for (size_t g = 0; g < groups.size(); ++g) {
    const Json got = GroupToJson(groups[g]);
    for (const auto& [option, value] : expected[g].items()) {
      if (IsTorchsAlone(option)) continue;
      TESSERA_CHECK(got.contains(option) && SameOption(got[option], value),
                    "param group {}: {}: got {}, expected {}", g, option,
                    got.contains(option) ? got[option].dump() : "nothing", value.dump());
    }
  }
}

void CheckKeyed(const Optimizer& optimizer, const Json& attrs) {
  Json states = Json::object();
  for (const auto& [key, named] : optimizer.StateDict())
    for (const auto& [name, tensor] : named) states[key].push_back(name);
  TESSERA_CHECK(states == attrs.at("expected_state_keys"), "state keys: got {}, expected {}",
                states.dump(), attrs.at("expected_state_keys").dump());
  const Json keys = optimizer.Keys();
  TESSERA_CHECK(keys == attrs.at("expected_param_keys"), "parameters: got {}, expected {}",
                keys.dump(), attrs.at("expected_param_keys").dump());
  if (attrs.value("save_param_groups", false))
    CheckGroups(optimizer.ParamGroups(), attrs.at("expected_param_groups"));
}

Answer RunKeyed(Context& ctx, const Case& c) {
  const Json& groups = c.attrs.at("groups");
  const int64_t steps = c.attrs.at("steps").get<int64_t>();
  std::vector<std::vector<NamedParameter>> parameters;
  std::vector<CombinedOptimizer::Part> parts;
  for (const Json& group : groups) {
    const std::string prefix = std::to_string(parts.size()) + "/";
    parameters.push_back(ReadParameters(ctx, c, group.at("params"), prefix));
    const Json& given = group.at("prefix");
    parts.push_back({given.is_null() ? "" : given.get<std::string>(),
                     MakeOptimizer(ctx, parameters.back(), group)});
  }
  CombinedOptimizer optimizer(parts);
  for (int64_t step = 0; step < steps; ++step) {
    optimizer.ZeroGrad();
    for (size_t g = 0; g < parameters.size(); ++g)
      SetGradients(ctx, c, parameters[g], step, std::to_string(g) + "/");
    optimizer.Step(ctx);
  }
  CheckKeyed(optimizer, c.attrs);
  Answer answer;
  for (size_t g = 0; g < parameters.size(); ++g)
    for (const NamedParameter& p : parameters[g])
      answer.tensors["param." + std::to_string(g) + "/" + p.name] = p.variable.value();
  AddState(optimizer, answer);
  return answer;
}

}  // namespace

Answer RunDenseOptim(Context& ctx, const Case& c) {
  const std::string op = c.attrs.at("op").get<std::string>();
  if (op == "optimizer") return RunOptimizer(ctx, c);
  if (op == "warmup") return RunWarmup(ctx, c);
  if (op == "keyed_optimizer") return RunKeyed(ctx, c);
  throw Unsupported("op " + op);
}

}  // namespace tessera::conformance
