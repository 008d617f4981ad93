#include "optim/gradient_clipping_optimizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <optional>

#include "tests/optim/optimizers_for_tests.h"
#include "tests/testing/devices.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::MakeDense;
using testing::Ones;
using testing::SetGradient;
using ::testing::ThrowsMessage;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::vector<float> GradientOf(const NamedParameter& p) {
  return p.variable.grad().ToVector<float>();
}

class GradientClippingTest : public testing::DeviceTest {
 protected:
  // Parameters of these shapes with gradients uniform in ±1.
  std::vector<NamedParameter> Random(const std::vector<Shape>& shapes, Context* on = nullptr) {
    Context& c = on == nullptr ? ctx() : *on;
    std::vector<NamedParameter> parameters;
    for (const Shape& shape : shapes) {
      parameters.push_back(Ones(c, "p" + std::to_string(parameters.size()), shape));
      const Tensor gradient = Tensor::Empty(c, shape);
      FillUniform(c, gradient, -1, 1);
      parameters.back().variable.AccumulateGrad(c, gradient);
    }
    return parameters;
  }
  double TotalNorm(const GradientClippingOptimizer& optimizer) {
    return optimizer.total_norm().ToVector<double>()[0];
  }
};

// Several pieces, one element, nothing; a parameter without a gradient.
TEST_P(GradientClippingTest, ScalesToTheNorm) {
  for (const double p : {0.5, 1.0, 2.0, 3.0, 7.5, kInfinity}) {
    for (const double most : {0.01, 1e6}) {
      std::vector<NamedParameter> parameters = Random({{7, 5}, {1500}, {1}, {0, 3}});
      parameters.push_back(Ones(ctx(), "none"));
      double sum = 0, largest = 0;
      std::vector<std::vector<float>> before;
      for (size_t i = 0; i < 4; ++i) {
        before.push_back(GradientOf(parameters[i]));
        for (const float g : before.back()) {
          sum += std::pow(std::abs(g), p);
          largest = std::max(largest, static_cast<double>(std::abs(g)));
        }
      }
      const double norm = std::isinf(p) ? largest : std::pow(sum, 1 / p);
      GradientClippingOptimizer optimizer(
          MakeDense(ctx(), parameters),
          {.mode = GradientClipping::kNorm, .max_gradient = most, .norm_type = p});
      EXPECT_FALSE(optimizer.total_norm().defined());
      optimizer.Step(ctx());
      EXPECT_NEAR(TotalNorm(optimizer), norm, 1e-12 * norm) << "p = " << p;
      const double factor = std::min(1.0, most / (norm + 1e-6));
      for (size_t i = 0; i < 4; ++i) {
        const std::vector<float> after = GradientOf(parameters[i]);
        for (size_t e = 0; e < after.size(); ++e)
          ASSERT_NEAR(after[e], before[i][e] * factor, 1e-7) << "p = " << p;
      }
      EXPECT_FALSE(parameters[4].variable.grad().defined());
    }
  }
}

TEST_P(GradientClippingTest, TheOptimizerTakesTheClippedGradients) {
  NamedParameter a = Ones(ctx(), "a"), b = Ones(ctx(), "b");
  GradientClippingOptimizer norm(MakeDense(ctx(), {a, b}, "sgd", 1),
                                 {.mode = GradientClipping::kNorm, .max_gradient = 2.5});
  SetGradient(ctx(), a, {3, 0});
  SetGradient(ctx(), b, {0, -4});
  norm.Step(ctx());
  EXPECT_EQ(TotalNorm(norm), 5);
  EXPECT_NEAR(a.variable.value().ToVector<float>()[0], 1 - 1.5, 1e-5);
  EXPECT_NEAR(b.variable.value().ToVector<float>()[1], 1 + 2, 1e-5);

  GradientClippingOptimizer value(MakeDense(ctx(), {a, b}),
                                  {.mode = GradientClipping::kValue, .max_gradient = 1.5});
  SetGradient(ctx(), a, {3, -1});
  SetGradient(ctx(), b, {1.5, -4});
  value.Step(ctx());
  EXPECT_THAT(GradientOf(a), ElementsAre(1.5f, -1));
  EXPECT_THAT(GradientOf(b), ElementsAre(1.5f, -1.5f));
  EXPECT_FALSE(value.total_norm().defined());

  GradientClippingOptimizer none(MakeDense(ctx(), {a, b}), {.max_gradient = 0.01});
  SetGradient(ctx(), a, {3, -1});
  none.Step(ctx());
  EXPECT_THAT(GradientOf(a), ElementsAre(3, -1));
}

// An op may give two inputs one gradient: it must be scaled once.
TEST_P(GradientClippingTest, SharedGradientsAreNotChangedInPlace) {
  NamedParameter a = Ones(ctx(), "a"), b = Ones(ctx(), "b");
  const Tensor shared = Tensor::From<float>(ctx(), {3, 4});
  a.variable.AccumulateGrad(ctx(), shared);
  b.variable.AccumulateGrad(ctx(), shared);
  GradientClippingOptimizer optimizer(
      MakeDense(ctx(), {a, b}),
      {.mode = GradientClipping::kNorm, .max_gradient = 2, .norm_type = kInfinity});
  optimizer.Step(ctx());
  EXPECT_THAT(shared.ToVector<float>(), ElementsAre(3, 4));
  EXPECT_NEAR(GradientOf(a)[1], 2, 1e-5);
  EXPECT_EQ(GradientOf(a), GradientOf(b));
}

TEST_P(GradientClippingTest, TakesSlicedGradients) {
  NamedParameter p = Ones(ctx(), "p", {2, 2});
  const Tensor wide = Tensor::From<float>(ctx(), {2, 3}, {9, 3, 0, 9, 0, -4});
  p.variable.AccumulateGrad(ctx(), wide.Narrow(1, 1, 2));
  GradientClippingOptimizer optimizer(MakeDense(ctx(), {p}),
                                      {.mode = GradientClipping::kNorm, .max_gradient = 5});
  optimizer.Step(ctx());
  EXPECT_EQ(TotalNorm(optimizer), 5);
  EXPECT_THAT(wide.ToVector<float>(), ElementsAre(9, 3, 0, 9, 0, -4));
}

// Two ranks with one half of the gradients each, and a parameter that both have.
TEST_P(GradientClippingTest, TheNormGoesOverAllRanks) {
  for (const double p : {1.0, 2.0, kInfinity}) {
    const auto of_rank = [&](const std::vector<float>& own, std::optional<double> others,
                             double* total) {
      NamedParameter a = Ones(ctx(), "own"), b = Ones(ctx(), "same");
      SetGradient(ctx(), a, own);
      SetGradient(ctx(), b, {2, 1});
      GradientClippingOptions options{.mode = GradientClipping::kNorm, .norm_type = p};
      options.replicated = {"same"};
      options.over_ranks = [&](Context& c, const Tensor& sum) {
        EXPECT_EQ(sum.shape(), Shape{1});
        EXPECT_EQ(sum.device(), c.device());
        *total = sum.ToVector<double>()[0];
        if (!others) return;
        const double all = std::isinf(p) ? std::max(*total, *others) : *total + *others;
        sum.CopyFrom(c, Tensor::From<double>(c, {all}));
      };
      GradientClippingOptimizer optimizer(MakeDense(ctx(), {a, b}), options);
      optimizer.Step(ctx());
      return TotalNorm(optimizer);
    };
    double first = 0, second = 0, again = 0;
    of_rank({3, -1}, {}, &first);
    of_rank({0, -5}, {}, &second);
    const double norm = of_rank({3, -1}, second, &again);
    EXPECT_EQ(again, first);
    EXPECT_EQ(norm, of_rank({0, -5}, first, &again));
    const double expected = p == 1 ? 3 + 1 + 5 + 2 + 1 : p == 2 ? std::sqrt(9 + 1 + 25 + 4 + 1) : 5;
    EXPECT_NEAR(norm, expected, 1e-12);
  }
}

TEST_P(GradientClippingTest, RanksAreAskedAlsoWithoutGradients) {
  int calls = 0;
  GradientClippingOptions options{.mode = GradientClipping::kNorm};
  options.over_ranks = [&](Context&, const Tensor& sum) {
    ++calls;
    EXPECT_EQ(sum.ToVector<double>()[0], 0);
  };
  GradientClippingOptimizer optimizer(MakeDense(ctx(), {Ones(ctx(), "p")}), options);
  optimizer.Step(ctx());
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(TotalNorm(optimizer), 0);
}

TEST_P(GradientClippingTest, WhatIsNotFiniteShows) {
  for (const double p : {2.0, kInfinity}) {
    for (const float bad : {std::nanf(""), INFINITY}) {
      NamedParameter a = Ones(ctx(), "a");
      SetGradient(ctx(), a, {bad, 1});
      GradientClippingOptimizer optimizer(MakeDense(ctx(), {a}),
                                          {.mode = GradientClipping::kNorm, .norm_type = p});
      optimizer.Step(ctx());
      EXPECT_FALSE(std::isfinite(TotalNorm(optimizer)));
      EXPECT_TRUE(std::isnan(GradientOf(a)[0]));
    }
  }
}

TEST_P(GradientClippingTest, SameBitsEverywhere) {
  for (const double p : {1.0, 2.0, 2.5, kInfinity}) {
    const auto run = [&](Device on, int threads) {
      Context c({.device = on, .threads = threads, .seed = 5});
      const std::vector<NamedParameter> parameters = Random({{40, 130}, {3}, {1024}, {1025}}, &c);
      GradientClippingOptimizer optimizer(MakeDense(c, parameters),
                                          {.mode = GradientClipping::kNorm, .norm_type = p});
      optimizer.Step(c);
      std::vector<Tensor> result = {optimizer.total_norm().ToHost()};
      for (const NamedParameter& x : parameters) result.push_back(x.variable.grad().ToHost());
      return result;
    };
    const std::vector<Tensor> expected = run(Device::Cpu(), 1), got = run(device(), 3);
    for (size_t i = 0; i < expected.size(); ++i) EXPECT_TRUE(SameBits(got[i], expected[i])) << p;
  }
}

TEST_P(GradientClippingTest, LeavesAllElseToTheOptimizer) {
  NamedParameter a = Ones(ctx(), "a");
  const auto dense = MakeDense(ctx(), {a}, "adagrad");
  GradientClippingOptimizer optimizer(dense, {.mode = GradientClipping::kValue});
  EXPECT_EQ(optimizer.Keys(), dense->Keys());
  EXPECT_EQ(optimizer.StateDict().size(), 1u);
  optimizer.SetGroupLearningRate(0, 0.5);
  EXPECT_EQ(dense->learning_rate(), 0.5);
  EXPECT_THROW(optimizer.LoadStateDict(ctx(), {}), Error);
}

TEST_P(GradientClippingTest, RefusesOptionsThatMakeNoSense) {
  const auto dense = MakeDense(ctx(), {Ones(ctx(), "a")});
  const auto error_of = [&](const GradientClippingOptions& options, const char* text) {
    EXPECT_THAT([&] { GradientClippingOptimizer optimizer(dense, options); },
                ThrowsMessage<Error>(HasSubstr(text)));
  };
  error_of({.max_gradient = 0}, "max_gradient 0; expected above 0");
  error_of({.max_gradient = std::nan("")}, "max_gradient nan");
  error_of({.norm_type = 0}, "norm_type 0; expected above 0");
  error_of({.norm_type = -1}, "norm_type -1");
  error_of({.replicated = {"b"}}, "no parameter 'b'");
}

TESSERA_INSTANTIATE_DEVICES(GradientClippingTest);

}  // namespace
}  // namespace tessera
