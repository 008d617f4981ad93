#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "runtime/ops/activation.h"
#include "runtime/ops/arithmetic.h"
#include "runtime/ops/kernels/kernels.h"
#include "runtime/ops/shaping.h"
#include "tests/testing/devices.h"
#include "tests/testing/error_of.h"
#include "tests/testing/finite_differences.h"

namespace tessera {
namespace {

using testing::ExpectCpusBits;
using testing::ExpectGradient;
using testing::ExpectGradients;
using testing::RandomTensor;
using Op = Variable (*)(Context&, const Variable&);

class ActivationTest : public testing::DeviceTest {};
TESSERA_INSTANTIATE_DEVICES(ActivationTest);
class ArithmeticTest : public testing::DeviceTest {};
TESSERA_INSTANTIATE_DEVICES(ArithmeticTest);
class ShapingTest : public testing::DeviceTest {};
TESSERA_INSTANTIATE_DEVICES(ShapingTest);

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

TEST_P(ActivationTest, AgreesWithDouble) {
  Context ctx({.device = device()});
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

TEST_P(ActivationTest, ExtremesAndNan) {
  Context ctx({.device = device()});
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
TEST(ActivationOnCpuTest, SameBitsOnAllLevels) {
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
                         run(internal::ChosenElementwise().*member)));
}

TEST_P(ActivationTest, HasTheCpusBits) {
  for (const ActivationCase& c : kActivations) {
    SCOPED_TRACE(c.name);
    ExpectCpusBits(
        device(), [&](Context& k, const auto& v) { return std::vector{c.op(k, v[0])}; }, {{1003}},
        30);
  }
}

TEST_P(ActivationTest, Gradients) {
  Context ctx({.device = device(), .seed = 1});
  const Tensor x = testing::MapTensor(ctx, RandomTensor(ctx, {5, 7}, 3),
                                      [](float v) { return std::abs(v) < 0.1f ? 0.5f : v; });
  for (const ActivationCase& c : kActivations) {
    SCOPED_TRACE(c.name);
    ExpectGradient(ctx, [&](Context& k, const auto& v) { return c.op(k, v[0]); }, {x});
  }
}

TEST_P(ActivationTest, ReluSlopeAtZeroIsZeroAndEmptyIsFine) {
  Context ctx({.device = device()});
  Variable x(Tensor::Zeros(ctx, {3}), true);
  Tape tape(ctx);
  tape.Backward(Relu(ctx, x), Tensor::Full(ctx, {3}, 1));
  EXPECT_EQ(x.grad().ToVector<float>(), std::vector<float>(3, 0.0f));
  EXPECT_EQ(Sigmoid(ctx, Tensor::Zeros(ctx, {0, 4})).shape(), (Shape{0, 4}));
  EXPECT_THROW(Relu(ctx, Tensor::Zeros(ctx, {2}, DType::kI32)), Error);
  EXPECT_THROW(Relu(ctx, {}), Error);
}

TEST_P(ArithmeticTest, ValuesAndGradients) {
  Context ctx({.device = device(), .seed = 2});
  const Tensor a = RandomTensor(ctx, {3, 4}), b = RandomTensor(ctx, {3, 4});
  const auto sixth = [](const Tensor& t) { return t.ToVector<float>()[5]; };
  EXPECT_EQ(sixth(Add(ctx, a, b)), sixth(a) + sixth(b));
  EXPECT_EQ(sixth(Mul(ctx, a, b)), sixth(a) * sixth(b));
  EXPECT_EQ(sixth(Scale(ctx, a, 3)), sixth(a) * 3);
  ExpectGradient(ctx, [](Context& c, const auto& v) { return Add(c, v[0], v[1]); }, {a, b});
  ExpectGradient(ctx, [](Context& c, const auto& v) { return Mul(c, v[0], v[1]); }, {a, b});
  ExpectGradient(ctx, [](Context& c, const auto& v) { return Mul(c, v[0], v[0]); }, {a});
  ExpectGradient(ctx, [](Context& c, const auto& v) { return Scale(c, v[0], -2.5f); }, {a});
  const auto fused = [](Context& c, const auto& v) { return MulAdd(c, v[0], v[1], v[2]); };
  EXPECT_EQ(sixth(MulAdd(ctx, a, b, a)), sixth(a) * sixth(b) + sixth(a));
  ExpectGradient(ctx, fused, {a, b, RandomTensor(ctx, {3, 4})});
  ExpectGradient(ctx, [](Context& c, const auto& v) { return Sum(c, v[0]); }, {a});
  ExpectGradient(ctx, [](Context& c, const auto& v) { return Mean(c, v[0]); }, {a});
}

TEST_P(ArithmeticTest, TakesSlices) {
  Context ctx({.device = device(), .seed = 2});
  const Tensor a = RandomTensor(ctx, {3, 8}).Narrow(1, 2, 4), b = RandomTensor(ctx, {3, 4});
  EXPECT_TRUE(SameBits(Mul(ctx, a, b).value(), Mul(ctx, a.Clone(ctx), b).value()));
  EXPECT_TRUE(SameBits(Sum(ctx, a).value(), Sum(ctx, a.Clone(ctx)).value()));
  EXPECT_TRUE(SameBits(Tanh(ctx, a).value(), Tanh(ctx, a.Clone(ctx)).value()));
}

TEST_P(ArithmeticTest, SumsOfNothingAndOfMany) {
  Context ctx({.device = device()});
  EXPECT_EQ(Sum(ctx, Tensor::Zeros(ctx, {0})).value().ToVector<float>(), std::vector<float>{0});
  EXPECT_EQ(Sum(ctx, Tensor::Full(ctx, {100003}, 1)).value().ToVector<float>(),
            std::vector<float>{100003});
}

TEST(ArithmeticOnCpuTest, SumsDoNotDependOnThreads) {
  Context one({.threads = 1}), two({.threads = 2});
  const Tensor x = RandomTensor(one, {100003});
  EXPECT_TRUE(SameBits(Sum(one, x).value(), Sum(two, x).value()));
}

TEST_P(ArithmeticTest, HasTheCpusBits) {
  const auto all = [](Context& c, const auto& v) {
    return std::vector{Add(c, v[0], v[1]),   Mul(c, v[0], v[1]), MulAdd(c, v[0], v[1], v[0]),
                       Scale(c, v[0], 0.3f), Sum(c, v[0]),       Mean(c, v[1])};
  };
  ExpectCpusBits(device(), all, {{70, 50}, {70, 50}});
}

TEST_P(ArithmeticTest, Errors) {
  Context ctx({.device = device()});
  const Tensor a = RandomTensor(ctx, {2}), b = RandomTensor(ctx, {3});
  EXPECT_THROW(Add(ctx, a, b), Error);
  EXPECT_THROW(Mul(ctx, a, {}), Error);
  EXPECT_THROW(MulAdd(ctx, a, a, b), Error);
  EXPECT_THROW(Mean(ctx, Tensor::Zeros(ctx, {0})), Error);
  EXPECT_THROW(Sum(ctx, {}), Error);
  const Tensor whole = Tensor::Full(ctx, {2}, 1, DType::kI64);
  EXPECT_EQ(testing::ErrorOf([&] { Add(ctx, whole, whole); }),
            "Add of a tensor [2] of i64; expected f32");
}

TEST_P(ShapingTest, ConcatAndSplitAreInverse) {
  Context ctx({.device = device(), .seed = 3});
  for (int dim : {0, 1, 2}) {
    const Tensor x = RandomTensor(ctx, {5, 6, 7});
    const std::vector<Variable> parts = Split(ctx, x, dim, {2, 0, x.dim(dim) - 2});
    EXPECT_TRUE(SameBits(Concat(ctx, parts, dim).value(), x));
  }
}

TEST_P(ShapingTest, Gradients) {
  Context ctx({.device = device(), .seed = 4});
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
TEST_P(ShapingTest, SplitWithAnUnusedPart) {
  Context ctx({.device = device()});
  Variable x(RandomTensor(ctx, {2, 3}), true);
  Tape tape(ctx);
  tape.Backward(Sum(ctx, Split(ctx, x, 1, {1, 2})[1]));
  EXPECT_EQ(x.grad().ToVector<float>(), (std::vector<float>{0, 1, 1, 0, 1, 1}));
}

TEST_P(ShapingTest, RefusesAnotherDevice) {
  if (on_cpu()) return;
  Context ctx({.device = device()}), host;
  const Tensor here = RandomTensor(ctx, {2, 3}), there = RandomTensor(host, {2, 3});
  EXPECT_THROW(Concat(ctx, {here, there}, 0), Error);
  EXPECT_THROW(Add(ctx, here, there), Error);
  EXPECT_THROW(Relu(ctx, there), Error);
}

TEST_P(ShapingTest, Errors) {
  Context ctx({.device = device()});
  const Tensor a = RandomTensor(ctx, {2, 3}), b = RandomTensor(ctx, {3, 3});
  EXPECT_THROW(Concat(ctx, {}, 0), Error);
  EXPECT_THROW(Concat(ctx, {a, b}, 1), Error);
  EXPECT_THROW(Concat(ctx, {a, b}, 2), Error);
  EXPECT_EQ(testing::ErrorOf([&] {
              Concat(ctx, {a, RandomTensor(ctx, {2})}, 0);
            }),
            "Concat: part 1 has the shape [2], and the first [2, 3]");
  EXPECT_EQ(testing::ErrorOf([&] { Concat(ctx, {a, {}}, 0); }), "Concat: part 1 is undefined");
  EXPECT_EQ(testing::ErrorOf([&] { Narrow(ctx, {}, 0, 0, 1); }), "Narrow of an undefined tensor");
  EXPECT_THROW(Concat(ctx, {a, Tensor::Zeros(ctx, {2, 3}, DType::kI32)}, 0), Error);
  EXPECT_THROW(Split(ctx, a, 1, {1, 1}), Error);
  EXPECT_EQ(testing::ErrorOf([&] {
              Split(ctx, a, 1, {2, 2});
            }),
            "Split of a tensor [2, 3] along dimension 1: part 1 from 2 on has size 2");
  EXPECT_EQ(testing::ErrorOf([&] { Split(ctx, {}, 0, {1}); }),
            "Split along dimension 0 of an undefined tensor");
  EXPECT_THROW(Narrow(ctx, a, 1, 2, 2), Error);
  EXPECT_THROW(Reshape(ctx, a, {4}), Error);
}

}  // namespace
}  // namespace tessera
