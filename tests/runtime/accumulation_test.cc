// Several backward passes that are one step: on a CPU, the bits of one pass over all examples.
#include "runtime/accumulation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/ops/activation.h"
#include "runtime/ops/arithmetic.h"
#include "runtime/ops/linear.h"
#include "runtime/ops/loss.h"
#include "runtime/ops/matmul.h"
#include "runtime/ops/norm.h"
#include "runtime/ops/shaping.h"
#include "tests/testing/devices.h"

namespace tessera {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

class AccumulationTest : public testing::DeviceTest {
 protected:
  Tensor Random(Shape shape) {
    std::vector<float> values;
    for (int64_t i = 0; i < shape.numel(); ++i)
      values.push_back(static_cast<float>((i * 7919 + ++salt_ * 104729) % 2003 - 1001) / 500);
    return Tensor::From(ctx(), shape, values);
  }
  Variable Parameter(Shape shape) { return Variable(Random(shape), /*requires_grad=*/true); }

  int64_t salt_ = 0;
};

// A net with every op that sums over examples for a parameter, a parameter that is used twice, and
// one that passes through an op first.
struct Net {
  Variable w1, b1, w2, b2, scale, shift, product, through;

  std::vector<Variable> parameters() const {
    return {w1, b1, w2, b2, scale, shift, product, through};
  }
  Variable Logits(Context& ctx, const Tensor& x) const {
    Variable h = LinearRelu(ctx, x, w1, b1);
    h = Tanh(ctx, Linear(ctx, h, w2, b2));
    h = LayerNorm(ctx, Linear(ctx, h, w2, {}), scale, shift, 1e-5f);
    h = AddBias(ctx, MatMul(ctx, h, product, /*transpose_b=*/false), b2);
    return Reshape(ctx, Linear(ctx, h, Reshape(ctx, through, {1, 20}), {}), {-1});
  }
};

class NetTest : public AccumulationTest {
 protected:
  Net MakeNet() {
    return {Parameter({20, 7}), Parameter({20}), Parameter({20, 20}), Parameter({20}),
            Parameter({20}),    Parameter({20}), Parameter({20, 20}), Parameter({20})};
  }
  std::vector<Tensor> Gradients(const Net& net) {
    std::vector<Tensor> gradients;
    for (Variable p : net.parameters()) {
      gradients.push_back(p.grad());
      p.ZeroGrad();
    }
    return gradients;
  }
  void ExpectNear(const Tensor& got, const Tensor& expected) {
    const std::vector<float> a = got.ToVector<float>(), b = expected.ToVector<float>();
    for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-5);
  }
  // Trains in micro-batches that end at `ends`; returns the sum of their losses.
  double Train(const Net& net, const Tensor& x, const Tensor& labels, std::vector<int64_t> ends) {
    Accumulation step(x.dim(0), static_cast<int>(ends.size()));
    double loss = 0;
    int64_t begin = 0;
    for (const int64_t end : ends) {
      step.Begin(end - begin);
      Tape tape(ctx(), &step);
      const Variable part =
          BceWithLogits(ctx(), net.Logits(ctx(), x.Rows(begin, end)), labels.Rows(begin, end));
      loss += static_cast<double>(ReadScalarSync(ctx(), part.value().data<float>()));
      tape.Backward(part);
      begin = end;
    }
    return loss;
  }
};

TEST_P(NetTest, MicroBatchesHaveTheBitsOfOneBatch) {
  const Net net = MakeNet();
  for (const int64_t rows : {300, 2176, 2304}) {
    const Tensor x = Random({rows, 7}), labels = Sigmoid(ctx(), Random({rows})).value();
    Tape tape(ctx());
    const Variable loss = BceWithLogits(ctx(), net.Logits(ctx(), x), labels);
    tape.Backward(loss);
    const std::vector<Tensor> whole = Gradients(net);
    for (const std::vector<int64_t>& ends :
         {std::vector<int64_t>{rows}, {128, 256, rows}, {256, rows}}) {
      EXPECT_NEAR(Train(net, x, labels, ends),
                  static_cast<double>(ReadScalarSync(ctx(), loss.value().data<float>())), 1e-5);
      const std::vector<Tensor> cut = Gradients(net);
      for (size_t p = 0; p < cut.size(); ++p) {
        ASSERT_TRUE(cut[p].defined()) << p;
        if (on_cpu())
          EXPECT_TRUE(SameBits(cut[p], whole[p])) << rows << " rows, parameter " << p;
        else
          ExpectNear(cut[p], whole[p]);
      }
    }
  }
}

TEST_P(NetTest, AnEmptyPassAddsNothing) {
  const Net net = MakeNet();
  const Tensor x = Random({128, 7}), labels = Sigmoid(ctx(), Random({128})).value();
  Train(net, x, labels, {128});
  const std::vector<Tensor> whole = Gradients(net);
  Accumulation step(128, 2);
  for (const int64_t end : {int64_t{128}, int64_t{0}}) {
    step.Begin(end);
    Tape tape(ctx(), &step);
    const Variable logits = net.Logits(ctx(), x.Rows(0, end));
    tape.Backward(end == 0 ? Sum(ctx(), logits) : BceWithLogits(ctx(), logits, labels));
  }
  const std::vector<Tensor> cut = Gradients(net);
  for (size_t p = 0; p < cut.size(); ++p) EXPECT_TRUE(SameBits(cut[p], whole[p])) << p;
}

TEST_P(AccumulationTest, ParametersHaveNoGradientBeforeTheLastPass) {
  const Variable w = Parameter({3, 2});
  Accumulation step(256, 2);
  for (int pass = 0; pass < 2; ++pass) {
    step.Begin(128);
    Tape tape(ctx(), &step);
    int ready = 0;
    tape.OnGradientReady([&](const Variable& v) { ready += v.is(w) ? 1 : 0; });
    tape.Backward(Mean(ctx(), Linear(ctx(), Random({128, 2}), w, {})));
    EXPECT_EQ(w.grad().defined(), pass == 1);
    EXPECT_EQ(ready, 1);
  }
}

TEST_P(AccumulationTest, RefusesWhatWouldNotHaveTheBitsOfOneBatch) {
  const Variable w = Parameter({128});
  Accumulation step(256, 2);
  const auto pass = [&] {
    step.Begin(128);
    Tape tape(ctx(), &step);
    tape.Backward(Mean(ctx(), Mul(ctx(), w, Random({128}))));
  };
  pass();
  EXPECT_THAT(pass, ThrowsMessage<Error>(HasSubstr("Mul gives a parameter of shape [128]")));

  const Variable v = Parameter({3, 2});
  Accumulation sequences(256, 2);
  sequences.Begin(128);
  Tape tape(ctx(), &sequences);
  EXPECT_THAT(
      [&] {
        tape.Backward(Sum(ctx(), Linear(ctx(), Random({100, 2}), v, {})));
      },
      ThrowsMessage<Error>(HasSubstr("an op of 100 rows in a micro-batch of 128")));
  EXPECT_THAT(
      [&] {
        InBatchSoftmax(ctx(), Random({128, 2}), Random({128, 2}));
      },
      ThrowsMessage<Error>(HasSubstr("InBatchSoftmax beside gradient accumulation")));
}

TEST_P(AccumulationTest, PassesAreMultiplesOfTheChunkAndBringAllExamples) {
  EXPECT_THAT(
      [] { Accumulation(300, 2).Begin(100); },
      ThrowsMessage<Error>(HasSubstr("a micro-batch of 100 examples that is not the last")));
  EXPECT_THAT([] { Accumulation(300, 1).Begin(256); },
              ThrowsMessage<Error>(HasSubstr("have 256 examples, not its 300")));
  EXPECT_THAT([] { Accumulation(128, 1).Begin(256); },
              ThrowsMessage<Error>(HasSubstr("of which the step has 128 left")));
  EXPECT_THAT([] { Accumulation(128, 0); }, ThrowsMessage<Error>(HasSubstr("in 0 passes")));
  Accumulation step(256, 2);
  EXPECT_THROW(step.Begin(100), Error);
  step.Begin(128);
  step.Begin(128);
  EXPECT_TRUE(step.last());
}

TESSERA_INSTANTIATE_DEVICES(AccumulationTest);
TESSERA_INSTANTIATE_DEVICES(NetTest);

}  // namespace
}  // namespace tessera
