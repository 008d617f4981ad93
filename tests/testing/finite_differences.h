#ifndef TESSERA_TESTS_TESTING_FINITE_DIFFERENCES_H_
#define TESSERA_TESTS_TESTING_FINITE_DIFFERENCES_H_
// Checks the backward pass of an autograd function against finite differences of its forward pass,
// on any device.
//
// With s(x) = Σ_k Σ_i r_ki·y_ki(x), r fixed random numbers and y_k the outputs, ds/dx_i is compared
// with the fourth-order difference (8·(s(x+h) − s(x−h)) − (s(x+2h) − s(x−2h)))/12h. The sum is
// formed in double, so that only the rounding of y, about 1e-7·|y|/h, and the error of order h⁴ are
// left.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>
#include <vector>

#include "runtime/autograd.h"

namespace tessera::testing {

using DifferentiableFunction =
    std::function<std::vector<Variable>(Context&, const std::vector<Variable>&)>;

struct DifferenceOptions {
  float step = 1.0f / 64;
  // |backward − difference| <= tolerance·max(1, largest |difference| of the input).
  double tolerance = 1e-3;
};

// fn of each element, on ctx's device.
inline Tensor MapTensor(Context& ctx, const Tensor& t, const std::function<float(float)>& fn) {
  std::vector<float> values = t.ToVector<float>();
  std::transform(values.begin(), values.end(), values.begin(), fn);
  return Tensor::From(ctx, t.shape(), values);
}

// Numbers uniform in [-1, 1) on a grid of 2^-12, whose sums with a step are exact.
inline Tensor RandomTensor(Context& ctx, const Shape& shape, double scale = 1) {
  Tensor t = Tensor::Empty(ctx, shape);
  FillUniform(ctx, t, -1, 1);
  return MapTensor(
      ctx, t, [scale](float v) { return static_cast<float>(scale) * std::round(v * 4096) / 4096; });
}

namespace internal {

inline double WeightedSum(const std::vector<Variable>& outputs,
                          const std::vector<Tensor>& weights) {
  double sum = 0;
  for (size_t k = 0; k < outputs.size(); ++k) {
    const std::vector<float> y = outputs[k].value().ToVector<float>(),
                             r = weights[k].ToVector<float>();
    for (size_t i = 0; i < y.size(); ++i) sum += static_cast<double>(y[i]) * r[i];
  }
  return sum;
}

// Runs backward of the weighted sum: each output's gradient is its weights. The gradients of the
// inputs for which `wanted`.
inline std::vector<Tensor> BackwardGradients(Context& ctx, const DifferentiableFunction& function,
                                             const std::vector<Tensor>& inputs,
                                             const std::vector<Tensor>& weights,
                                             const std::vector<bool>& wanted) {
  // A function of all outputs that hands them their weights.
  class Seed final : public Function {
   public:
    explicit Seed(std::vector<Tensor> weights) : weights_(std::move(weights)) {}
    std::string_view name() const override { return "Seed"; }
    std::vector<Tensor> Backward(Context&, const std::vector<Tensor>&) override { return weights_; }

   private:
    std::vector<Tensor> weights_;
  };
  std::vector<Variable> variables;
  for (size_t i = 0; i < inputs.size(); ++i)
    variables.emplace_back(inputs[i].Clone(ctx), wanted[i]);
  Tape tape(ctx);
  const std::vector<Variable> outputs = function(ctx, variables);
  const Variable root =
      Record(ctx, std::make_unique<Seed>(weights), outputs, Tensor::Zeros(ctx, {}));
  tape.Backward(root);
  std::vector<Tensor> gradients;
  for (const Variable& variable : variables)
    gradients.push_back(variable.grad() ? variable.grad().Contiguous(ctx) : Tensor());
  return gradients;
}

}  // namespace internal

// Expects the gradient of `function` at `inputs` (f32) to agree with differences in every element
// of every input, and to be the same bits when one input alone asks for it. Keep inputs a few steps
// away from kinks.
inline void ExpectGradients(Context& ctx, const DifferentiableFunction& function,
                            const std::vector<Tensor>& inputs,
                            const DifferenceOptions& options = {}) {
  std::vector<Tensor> weights;
  {
    std::vector<Variable> plain(inputs.begin(), inputs.end());
    for (const Variable& y : function(ctx, plain)) weights.push_back(RandomTensor(ctx, y.shape()));
  }
  const std::vector<Tensor> gradients = internal::BackwardGradients(
      ctx, function, inputs, weights, std::vector<bool>(inputs.size(), true));
  for (size_t k = 0; k < inputs.size(); ++k) {
    SCOPED_TRACE(::testing::Message()
                 << "input " << k << " of shape " << ToString(inputs[k].shape()));
    ASSERT_TRUE(gradients[k].defined() || inputs[k].numel() == 0);
    std::vector<bool> only(inputs.size(), false);
    only[k] = true;
    EXPECT_TRUE(SameBits(gradients[k],
                         internal::BackwardGradients(ctx, function, inputs, weights, only)[k]))
        << "the gradient differs when no other input asks for one";
    if (inputs[k].numel() == 0) continue;
    std::vector<Variable> moved;
    for (const Tensor& input : inputs) moved.emplace_back(input.Clone(ctx));
    std::vector<float> x = inputs[k].ToVector<float>();
    const auto sum_at = [&](size_t i, float value) {
      const float middle = std::exchange(x[i], value);
      moved[k].value().CopyFrom(ctx, Tensor::From(ctx, inputs[k].shape(), x));
      x[i] = middle;
      return internal::WeightedSum(function(ctx, moved), weights);
    };
    const auto difference = [&](size_t i, float step) {
      return sum_at(i, x[i] + step) - sum_at(i, x[i] - step);
    };
    std::vector<double> expected;
    double largest = 1;
    for (size_t i = 0; i < x.size(); ++i) {
      expected.push_back((8 * difference(i, options.step) - difference(i, 2 * options.step)) /
                         (12 * options.step));
      largest = std::max(largest, std::abs(expected.back()));
    }
    const std::vector<float> got = gradients[k].ToVector<float>();
    for (size_t i = 0; i < x.size(); ++i)
      EXPECT_NEAR(got[i], expected[i], options.tolerance * largest) << "element " << i;
  }
}

// Checks a function of one output.
inline void ExpectGradient(
    Context& ctx, const std::function<Variable(Context&, const std::vector<Variable>&)>& function,
    const std::vector<Tensor>& inputs, const DifferenceOptions& options = {}) {
  ExpectGradients(
      ctx,
      [&](Context& c, const std::vector<Variable>& v) {
        return std::vector<Variable>{function(c, v)};
      },
      inputs, options);
}

// Expects the outputs of `function` at random inputs of these shapes, and its gradients there, to
// have the same bits on `device` as on the CPU.
inline void ExpectCpusBits(Device device, const DifferentiableFunction& function,
                           const std::vector<Shape>& shapes, double scale = 1) {
  const auto run = [&](Device on) {
    Context ctx({.device = on, .threads = 2, .seed = 17});
    std::vector<Tensor> inputs, results, weights;
    for (const Shape& shape : shapes) inputs.push_back(RandomTensor(ctx, shape, scale));
    for (const Variable& y : function(ctx, {inputs.begin(), inputs.end()})) {
      results.push_back(y.value().Contiguous(ctx).To(ctx, Device::Cpu()));
      weights.push_back(RandomTensor(ctx, y.shape()));
    }
    for (const Tensor& gradient : internal::BackwardGradients(
             ctx, function, inputs, weights, std::vector<bool>(inputs.size(), true)))
      results.push_back(gradient.To(ctx, Device::Cpu()));
    return results;
  };
  const std::vector<Tensor> expected = run(Device::Cpu()), got = run(device);
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_TRUE(SameBits(got[i], expected[i])) << "output or gradient " << i;
}

}  // namespace tessera::testing
#endif  // TESSERA_TESTS_TESTING_FINITE_DIFFERENCES_H_
