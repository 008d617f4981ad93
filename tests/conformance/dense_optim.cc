// Kind `dense_optim`: optimizers of ordinary variables.
#include <set>

#include "tests/conformance/dense_modules.h"
#include "tests/conformance/kinds.h"

namespace tessera::conformance {
namespace {

using Skipped = std::set<std::pair<int64_t, std::string>>;

Skipped ReadSkipped(const Case& c) {
  Skipped skipped;
  for (const Json& pair : c.attrs.at("skip"))
    skipped.emplace(pair.at(0).get<int64_t>(), pair.at(1).get<std::string>());
  return skipped;
}

// in.grad.<name> of one step, in the shape of the parameter.
Tensor StepGradient(Context& ctx, const Case& c, const NamedParameter& p, int64_t step) {
  return c.input("grad." + p.name).Rows(step, step + 1).Clone(ctx).Reshape(p.variable.shape());
}

Shape WithSteps(const Shape& shape, int64_t steps) {
  std::vector<int64_t> dims = {steps};
  dims.insert(dims.end(), shape.dims().begin(), shape.dims().end());
  return Shape(std::span<const int64_t>(dims));
}

Answer RunOptimizer(Context& ctx, const Case& c) {
  if (c.attrs.contains("clipping")) throw Unsupported("gradient clipping");
  const int64_t steps = c.attrs.at("steps").get<int64_t>();
  const Skipped skipped = ReadSkipped(c);
  Answer answer;
  std::vector<NamedParameter> parameters;
  for (const std::string& name : c.attrs.at("params").get<std::vector<std::string>>()) {
    parameters.push_back(
        {name, Variable(c.input("param." + name).Clone(ctx), /*requires_grad=*/true)});
    answer.tensors["param." + name] =
        Tensor::Empty(ctx, WithSteps(parameters.back().variable.shape(), steps));
  }
  DenseOptimizer optimizer(
      ctx, parameters,
      ReadDenseOptimizer(c.attrs.at("optimizer").get<std::string>(), c.attrs.at("hyper")));
  for (int64_t step = 0; step < steps; ++step) {
    optimizer.ZeroGrad();
    for (NamedParameter& p : parameters)
      if (!skipped.contains({step, p.name}))
        p.variable.AccumulateGrad(ctx, StepGradient(ctx, c, p, step));
    optimizer.Step(ctx);
    for (const NamedParameter& p : parameters)
      answer.tensors["param." + p.name]
          .Rows(step, step + 1)
          .CopyFrom(ctx, p.variable.value().Reshape(WithSteps(p.variable.shape(), 1)));
  }
  for (const DenseOptimizerState& s : optimizer.States())
    answer.tensors["state." + s.parameter + "." + s.state] = s.tensor;
  return answer;
}

}  // namespace

Answer RunDenseOptim(Context& ctx, const Case& c) {
  const std::string op = c.attrs.at("op").get<std::string>();
  if (op != "optimizer") throw Unsupported("op " + op);
  return RunOptimizer(ctx, c);
}

}  // namespace tessera::conformance
