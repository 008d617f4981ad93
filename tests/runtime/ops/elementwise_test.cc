#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "runtime/ops/activation.h"
#include "runtime/ops/arithmetic.h"
#include "runtime/ops/kernels.h"
#include "runtime/ops/shaping.h"
#include "tests/testing/finite_differences.h"

namespace tessera {
namespace {

using testing::ExpectGradient;
using testing::ExpectGradients;
using testing::RandomTensor;
using Op = Variable (*)(Context&, const Variable&);

struct ActivationCase {
  const char* name;
  Op op;
  double (*reference)(double);
};
double SigmoidOf(double x) { return 1 / (1 + std::exp(-x)); }
const ActivationCase kActivations[] = {
    {"relu", Relu, [](double x) { return std::max(x, 0.0); }},
    {"sigmoid", Sigmoid, SigmoidOf},
    {"tanh", Tanh, [](double x) { return std::tanh(x); }},
    {"swish", Swish, [](double x) { return x * SigmoidOf(x); }},
};

TEST(ActivationTest, AgreesWithDouble) {
  Context ctx;
  std::vector<float> values;
  for (int i = -4000; i <= 4000; ++i) values.push_back(static_cast<float>(i) / 160);
  for (int i = -40; i <= 40; ++i)
    values.push_back(std::copysign(std::ldexp(1.1f, -std::abs(i)), static_cast<float>(i)));
  for (const ActivationCase& c : kActivations) {
    const std::vector<float> got = c.op(ctx, Tensor::From(ctx, values)).value().ToVector<float>();
    for (size_t i = 0; i < values.size(); ++i) {
      const double expected = c.reference(values[i]);
      EXPECT_NEAR(got[i], expected, 4e-7 * std::abs(expected) + 1e-37)
          << c.name << " of " << values[i];
    }
  }
}

TEST(ActivationTest, ExtremesAndNan) {
  Context ctx;
  constexpr float kInf = std::numeric_limits<float>::infinity(),
                  kNan = std::numeric_limits<float>::quiet_NaN();
  const Tensor x = Tensor::From<float>(ctx, {-kInf, -1e30f, -100, 100, 1e30f, kInf, kNan});
  const auto of = [&](Op op) { return op(ctx, x).value().ToVector<float>(); };
  const auto sigmoid = of(Sigmoid), tanh = of(Tanh), relu = of(Relu);
  for (int i = 0; i < 3; ++i) {
    EXPECT_NEAR(sigmoid[static_cast<size_t>(i)], 0, 1e-37);
    EXPECT_EQ(sigmoid[static_cast<size_t>(i + 3)], 1);
    EXPECT_EQ(tanh[static_cast<size_t>(i)], -1);
    EXPECT_EQ(tanh[static_cast<size_t>(i + 3)], 1);
    EXPECT_EQ(relu[static_cast<size_t>(i)], 0);
  }
  EXPECT_EQ(relu[5], kInf);
  for (Op op : {Sigmoid, Tanh, Relu, Swish}) EXPECT_TRUE(std::isnan(of(op)[6]));
}

// The formulas hold no fused or reordered operation: all instruction sets give the same bits.
TEST(ActivationTest, SameBitsOnAllLevels) {
  Context ctx;
  const Tensor x = RandomTensor(ctx, {1003}, 10), dy = RandomTensor(ctx, {1003});
  const auto run = [&](const internal::ActivationKernels& k) {
    Tensor y = Tensor::Empty(ctx, {2, 1003});
    k.forward(x.data<float>(), y.data<float>(), 1003);
    k.backward(x.data<float>(), dy.data<float>(), y.data<float>() + 1003, 1003);
    return y;
  };
  for (auto member : {&internal::ElementwiseKernels::relu, &internal::ElementwiseKernels::sigmoid,
                      &internal::ElementwiseKernels::tanh, &internal::ElementwiseKernels::swish})
    EXPECT_TRUE(SameBits(run(internal::baseline::kElementwise.*member),
                         run(internal::BestElementwise().*member)));
}

TEST(ActivationTest, Gradients) {
  Context ctx({.seed = 1});
  Tensor x = RandomTensor(ctx, {5, 7}, 3);
  for (float& v : x.span<float>())
    if (std::abs(v) < 0.1f) v = 0.5f;
  for (const ActivationCase& c : kActivations) {
    SCOPED_TRACE(c.name);
    ExpectGradient(ctx, [&](Context& k, const auto& v) { return c.op(k, v[0]); }, {x});
  }
}

TEST(ActivationTest, ReluSlopeAtZeroIsZeroAndEmptyIsFine) {
  Context ctx;
  Variable x(Tensor::Zeros(ctx, {3}), true);
  Tape tape(ctx);
  tape.Backward(Relu(ctx, x), Tensor::Full(ctx, {3}, 1));
  EXPECT_EQ(x.grad().ToVector<float>(), std::vector<float>(3, 0.0f));
  EXPECT_EQ(Sigmoid(ctx, Tensor::Zeros(ctx, {0, 4})).shape(), (Shape{0, 4}));
  EXPECT_THROW(Relu(ctx, Tensor::Zeros(ctx, {2}, DType::kI32)), Error);
  EXPECT_THROW(Relu(ctx, {}), Error);
}

TEST(ArithmeticTest, ValuesAndGradients) {
  Context ctx({.seed = 2});
  const Tensor a = RandomTensor(ctx, {3, 4}), b = RandomTensor(ctx, {3, 4});
  EXPECT_EQ(Add(ctx, a, b).value().span<float>()[5], a.span<float>()[5] + b.span<float>()[5]);
  EXPECT_EQ(Mul(ctx, a, b).value().span<float>()[5], a.span<float>()[5] * b.span<float>()[5]);
  EXPECT_EQ(Scale(ctx, a, 3).value().span<float>()[5], a.span<float>()[5] * 3);
  ExpectGradient(ctx, [](Context& c, const auto& v) { return Add(c, v[0], v[1]); }, {a, b});
  ExpectGradient(ctx, [](Context& c, const auto& v) { return Mul(c, v[0], v[1]); }, {a, b});
  ExpectGradient(ctx, [](Context& c, const auto& v) { return Mul(c, v[0], v[0]); }, {a});
  ExpectGradient(ctx, [](Context& c, const auto& v) { return Scale(c, v[0], -2.5f); }, {a});
  ExpectGradient(ctx, [](Context& c, const auto& v) { return Sum(c, v[0]); }, {a});
  ExpectGradient(ctx, [](Context& c, const auto& v) { return Mean(c, v[0]); }, {a});
}

TEST(ArithmeticTest, TakesSlices) {
  Context ctx({.seed = 2});
  const Tensor a = RandomTensor(ctx, {3, 8}).Narrow(1, 2, 4), b = RandomTensor(ctx, {3, 4});
  EXPECT_TRUE(SameBits(Mul(ctx, a, b).value(), Mul(ctx, a.Clone(ctx), b).value()));
  EXPECT_TRUE(SameBits(Sum(ctx, a).value(), Sum(ctx, a.Clone(ctx)).value()));
  EXPECT_TRUE(SameBits(Tanh(ctx, a).value(), Tanh(ctx, a.Clone(ctx)).value()));
}

TEST(ArithmeticTest, SumsDoNotDependOnThreads) {
  Context one({.threads = 1}), two({.threads = 2});
  const Tensor x = RandomTensor(one, {100003});
  EXPECT_TRUE(SameBits(Sum(one, x).value(), Sum(two, x).value()));
  EXPECT_EQ(Sum(one, Tensor::Zeros(one, {0})).value().ToVector<float>(), std::vector<float>{0});
}

TEST(ArithmeticTest, Errors) {
  Context ctx;
  const Tensor a = RandomTensor(ctx, {2}), b = RandomTensor(ctx, {3});
  EXPECT_THROW(Add(ctx, a, b), Error);
  EXPECT_THROW(Mul(ctx, a, {}), Error);
  EXPECT_THROW(Mean(ctx, Tensor::Zeros(ctx, {0})), Error);
  EXPECT_THROW(Sum(ctx, {}), Error);
}

TEST(ShapingTest, ConcatAndSplitAreInverse) {
  Context ctx({.seed = 3});
  for (int dim : {0, 1, 2}) {
    const Tensor x = RandomTensor(ctx, {5, 6, 7});
    const std::vector<Variable> parts = Split(ctx, x, dim, {2, 0, x.dim(dim) - 2});
    EXPECT_TRUE(SameBits(Concat(ctx, parts, dim).value(), x));
  }
}

TEST(ShapingTest, Gradients) {
  Context ctx({.seed = 4});
  const Tensor a = RandomTensor(ctx, {3, 2}), b = RandomTensor(ctx, {3, 4}),
               c = RandomTensor(ctx, {2, 2});
  ExpectGradient(ctx,
                 [](Context& k, const auto& v) {
                   return Concat(k, {v[0], v[1], v[0]}, 1);
                 },
                 {a, b});
  ExpectGradient(ctx, [](Context& k, const auto& v) { return Concat(k, {v[0], v[1]}, 0); }, {a, c});
  ExpectGradient(ctx, [](Context& k, const auto& v) { return Narrow(k, v[0], 1, 1, 2); }, {b});
  ExpectGradient(ctx, [](Context& k, const auto& v) { return Reshape(k, v[0], {2, -1}); }, {b});
  ExpectGradients(ctx, [](Context& k, const auto& v) { return Split(k, v[0], 1, {1, 3}); }, {b});
}

// A part that nothing depends on has no gradient: zeros stand in.
TEST(ShapingTest, SplitWithAnUnusedPart) {
  Context ctx;
  Variable x(RandomTensor(ctx, {2, 3}), true);
  Tape tape(ctx);
  tape.Backward(Sum(ctx, Split(ctx, x, 1, {1, 2})[1]));
  EXPECT_EQ(x.grad().ToVector<float>(), (std::vector<float>{0, 1, 1, 0, 1, 1}));
}

TEST(ShapingTest, Errors) {
  Context ctx;
  const Tensor a = RandomTensor(ctx, {2, 3}), b = RandomTensor(ctx, {3, 3});
  EXPECT_THROW(Concat(ctx, {}, 0), Error);
  EXPECT_THROW(Concat(ctx, {a, b}, 1), Error);
  EXPECT_THROW(Concat(ctx, {a, b}, 2), Error);
  EXPECT_THROW(Concat(ctx, {a, RandomTensor(ctx, {2})}, 0), Error);
  EXPECT_THROW(Concat(ctx, {a, Tensor::Zeros(ctx, {2, 3}, DType::kI32)}, 0), Error);
  EXPECT_THROW(Split(ctx, a, 1, {1, 1}), Error);
  EXPECT_THROW(Split(ctx, a, 1, {2, 2}), Error);
  EXPECT_THROW(Narrow(ctx, a, 1, 2, 2), Error);
  EXPECT_THROW(Reshape(ctx, a, {4}), Error);
}

}  // namespace
}  // namespace tessera
