#include <gtest/gtest.h>

#include <cmath>

#include "models/layers/interaction.h"
#include "models/layers/over_arch.h"
#include "optim/dense_optimizer.h"
#include "runtime/graph.h"
#include "runtime/ops/arithmetic.h"
#include "runtime/ops/loss.h"
#include "tests/testing/devices.h"
#include "tests/testing/finite_differences.h"

namespace tessera {
namespace {

using testing::ExpectCpusBits;
using testing::ExpectGradient;
using testing::RandomTensor;

class LinearLayerTest : public testing::DeviceTest {};
TESSERA_INSTANTIATE_DEVICES(LinearLayerTest);
class MlpTest : public testing::DeviceTest {};
TESSERA_INSTANTIATE_DEVICES(MlpTest);
class DotInteractionTest : public testing::DeviceTest {};
TESSERA_INSTANTIATE_DEVICES(DotInteractionTest);
class CaptureTest : public testing::DeviceTest {};
TESSERA_INSTANTIATE_DEVICES(CaptureTest);
class ProjectionInteractionTest : public testing::DeviceTest {};
TESSERA_INSTANTIATE_DEVICES(ProjectionInteractionTest);

std::vector<std::string> Names(const Module& module, const std::string& prefix = "") {
  std::vector<std::string> names;
  for (const NamedParameter& p : module.Parameters(prefix))
    names.push_back(p.name + ToString(p.variable.shape()));
  return names;
}

TEST_P(LinearLayerTest, InitIsUniform) {
  Context ctx({.device = device(), .seed = 1});
  const LinearLayer layer(ctx, 100, 200);
  for (const NamedParameter& p : layer.Parameters()) {
    EXPECT_TRUE(p.variable.requires_grad());
    double sum = 0, squares = 0, largest = 0;
    const std::vector<float> values = p.variable.value().ToVector<float>();
    for (float v : values) {
      sum += v;
      squares += v * v;
      largest = std::max<double>(largest, std::abs(v));
    }
    const double n = static_cast<double>(values.size());
    EXPECT_LE(largest, 0.1f);
    EXPECT_GT(largest, 0.099);
    EXPECT_NEAR(sum / n, 0, 4 * 0.0577 / std::sqrt(n));
    EXPECT_NEAR(std::sqrt(squares / n), 0.1 / std::sqrt(3.0), 0.005);
  }
  EXPECT_EQ(LinearLayer(ctx, 3, 2, /*bias=*/false).Parameters().size(), 1u);
  EXPECT_THROW(LinearLayer(ctx, 0, 2), Error);
  EXPECT_THROW(LinearLayer(ctx, 2, 0), Error);
}

TEST_P(LinearLayerTest, InitHasTheCpusBits) {
  Context ctx({.device = device(), .seed = 3}), host({.seed = 3});
  const LinearLayer here(ctx, 33, 7), there(host, 33, 7);
  for (size_t i = 0; i < 2; ++i)
    EXPECT_TRUE(
        SameBits(here.Parameters()[i].variable.value(), there.Parameters()[i].variable.value()));
}

TEST_P(MlpTest, NamesAreTorchRecs) {
  Context ctx({.device = device()});
  EXPECT_EQ(
      Names(Mlp(ctx, 3, {4, 2}), "a."),
      (std::vector<std::string>{"a._mlp.0._linear.weight[4, 3]", "a._mlp.0._linear.bias[4]",
                                "a._mlp.1._linear.weight[2, 4]", "a._mlp.1._linear.bias[2]"}));
  EXPECT_EQ(Names(Mlp(ctx, 3, {4}, {.bias = false, .activation = Activation::kSwishLayerNorm})),
            (std::vector<std::string>{"_mlp.0._linear.weight[4, 3]",
                                      "_mlp.0._activation_fn.norm.0.weight[4]",
                                      "_mlp.0._activation_fn.norm.0.bias[4]"}));
  EXPECT_EQ(Names(OverArch(ctx, 5, {3, 1})),
            (std::vector<std::string>{"model.0._mlp.0._linear.weight[3, 5]",
                                      "model.0._mlp.0._linear.bias[3]", "model.1.weight[1, 3]",
                                      "model.1.bias[1]"}));
}

TEST_P(MlpTest, ActivationsAndErrors) {
  Context ctx({.device = device(), .seed = 2});
  const Tensor x = RandomTensor(ctx, {6, 3});
  for (const char* name : {"relu", "sigmoid", "tanh", "swish", "swish_layernorm"}) {
    EXPECT_EQ(ToString(ParseActivation(name)), name);
    const Mlp mlp(ctx, 3, {4, 2}, {.activation = ParseActivation(name)});
    EXPECT_EQ(mlp.Forward(ctx, x).shape(), (Shape{6, 2}));
    if (std::string(name) == "relu") continue;
    ExpectGradient(ctx, [&](Context& c, const auto& v) { return mlp.Forward(c, v[0]); }, {x},
                   {.step = 1.0f / 128, .tolerance = 3e-3});
  }
  const Mlp open(ctx, 3, {40}, {.activation_on_last = false});
  const std::vector<float> y = open.Forward(ctx, x).value().ToVector<float>();
  EXPECT_TRUE(std::any_of(y.begin(), y.end(), [](float v) { return v < 0; }));
  EXPECT_EQ(open.in_size(), 3);
  EXPECT_EQ(open.out_size(), 40);
  EXPECT_THROW(ParseActivation("gelu"), Error);
  EXPECT_THROW(Mlp(ctx, 3, {}), Error);
  EXPECT_THROW(Mlp(ctx, 3, {0}), Error);
  EXPECT_THROW(OverArch(ctx, 3, {1}), Error);
}

double Element(const Tensor& t, int64_t i, int64_t j) {
  return t.data<float>()[i * t.row_stride() + j];
}

TEST_P(DotInteractionTest, AgreesWithLoops) {
  Context ctx({.device = device(), .seed = 3});
  for (const auto& [batch, features, dim] : {std::tuple<int64_t, int64_t, int64_t>{1, 1, 1},
                                             {3, 2, 5},
                                             {37, 26, 16},
                                             {5, 40, 7},
                                             {2, 15, 32},
                                             {2, 16, 33},
                                             {2, 31, 129},
                                             {2, 100, 300},
                                             {1, 150, 5},
                                             {0, 3, 4}}) {
    SCOPED_TRACE(::testing::Message() << batch << ", " << features << ", " << dim);
    const Tensor dense_here = RandomTensor(ctx, {batch, dim}),
                 sparse_here = RandomTensor(ctx, {batch, features * dim});
    const Tensor y = DotInteraction(ctx, dense_here, sparse_here).value().ToHost(),
                 dense = dense_here.ToHost(), sparse = sparse_here.ToHost();
    ASSERT_EQ(y.shape(), (Shape{batch, dim + features * (features + 1) / 2}));
    const auto z = [&](int64_t b, int64_t i, int64_t d) {
      return i == 0 ? Element(dense, b, d) : Element(sparse, b, (i - 1) * dim + d);
    };
    for (int64_t b = 0; b < batch; ++b) {
      int64_t column = 0;
      for (int64_t d = 0; d < dim; ++d) EXPECT_EQ(Element(y, b, column++), z(b, 0, d));
      for (int64_t i = 0; i <= features; ++i)
        for (int64_t j = i + 1; j <= features; ++j) {
          double dot = 0;
          for (int64_t d = 0; d < dim; ++d) dot += z(b, i, d) * z(b, j, d);
          ASSERT_NEAR(Element(y, b, column++), dot, 2e-5) << i << "·" << j;
        }
    }
  }
}

// On CUDA: rows in shared memory whole and in parts, pairs that fit there and pairs that don't.
TEST_P(DotInteractionTest, HasTheCpusBits) {
  for (const auto& [batch, features, dim] : {std::tuple<int64_t, int64_t, int64_t>{9, 1, 1},
                                             {21, 26, 16},
                                             {3, 5, 17},
                                             {2, 26, 128},
                                             {1, 100, 300},
                                             {1, 150, 6}})
    ExpectCpusBits(
        device(),
        [](Context& c, const auto& v) { return std::vector{DotInteraction(c, v[0], v[1])}; },
        {{batch, dim}, {batch, features * dim}});
}

TEST_P(DotInteractionTest, Gradients) {
  Context ctx({.device = device(), .seed = 4});
  for (const auto& [batch, features, dim] :
       {std::tuple<int64_t, int64_t, int64_t>{2, 3, 4}, {1, 1, 1}, {2, 5, 17}, {17, 2, 2}})
    ExpectGradient(ctx, [](Context& c, const auto& v) { return DotInteraction(c, v[0], v[1]); },
                   {RandomTensor(ctx, {batch, dim}), RandomTensor(ctx, {batch, features * dim})});
}

// y and the gradients of both parts, of which all of y's are 0.5.
std::array<Tensor, 3> InteractionStep(Context& ctx, const Tensor& dense, const Tensor& sparse) {
  Variable d(dense, true), s(sparse, true);
  Tape tape(ctx);
  const Variable y = DotInteraction(ctx, d, s);
  tape.Backward(Variable(y), Tensor::Full(ctx, y.shape(), 0.5));
  return {y.value(), d.grad(), s.grad()};
}

TEST_P(DotInteractionTest, GradientsThatPassTheCachesHaveTheSameBits) {
  if (!on_cpu()) return;
  Context ctx({.device = device(), .seed = 6});
  const int64_t rows = 1200, dim = 64, features = 28;  // 8.6 MB of gradients
  const Tensor dense = RandomTensor(ctx, {rows, dim}),
               sparse = RandomTensor(ctx, {rows, features * dim});
  const auto all = InteractionStep(ctx, dense, sparse);
  for (const int64_t begin : {int64_t{0}, rows / 2}) {
    const int64_t end = begin + rows / 2;
    const auto half = InteractionStep(ctx, dense.Rows(begin, end), sparse.Rows(begin, end));
    for (size_t i = 0; i < 3; ++i) EXPECT_TRUE(SameBits(half[i], all[i].Rows(begin, end))) << i;
  }
}

TEST_P(DotInteractionTest, SlicesAndEdges) {
  Context ctx({.device = device(), .threads = 1, .seed = 5});
  const Tensor wide = RandomTensor(ctx, {70, 50}), dense = wide.Narrow(1, 1, 6),
               sparse = wide.Narrow(1, 9, 24);
  const auto expected = InteractionStep(ctx, dense.Clone(ctx), sparse.Clone(ctx)),
             sliced = InteractionStep(ctx, dense, sparse);
  for (size_t i = 0; i < 3; ++i) EXPECT_TRUE(SameBits(sliced[i], expected[i])) << i;
  const Variable alone(dense);
  EXPECT_TRUE(DotInteraction(ctx, alone, Tensor::Zeros(ctx, {70, 0})).is(alone));
  EXPECT_THROW(DotInteraction(ctx, dense, wide.Narrow(1, 0, 7)), Error);
  EXPECT_THROW(DotInteraction(ctx, dense, RandomTensor(ctx, {69, 12})), Error);
  EXPECT_THROW(DotInteraction(ctx, Tensor::Zeros(ctx, {70, 0}), sparse), Error);
  EXPECT_THROW(DotInteraction(ctx, dense, RandomTensor(ctx, {70, 4, 6})), Error);
  if (!on_cpu()) {
    EXPECT_THROW(DotInteraction(ctx, Tensor::Zeros(ctx, {1, 1}), Tensor::Zeros(ctx, {1, 3072})),
                 Error);
  }
}

// A step of all but the tables is recorded once: nothing in it waits for the device, and replaying
// it three times makes three steps.
TEST_P(CaptureTest, DenseStep) {
  if (on_cpu()) return;
  const auto train = [&](bool captured) {
    Context ctx({.device = device(), .seed = 8});
    const Mlp lower(ctx, 5, {8, 4}, {.activation = Activation::kSwishLayerNorm});
    const OverArch upper(ctx, 4 + 6, {16, 1});
    std::vector<NamedParameter> parameters = lower.Parameters("lower.");
    upper.AppendParameters("upper.", parameters);
    DenseOptimizer optimizer(ctx, parameters, DenseOptimizerConfig("sgd"));
    const Tensor dense = RandomTensor(ctx, {70, 5}), sparse = RandomTensor(ctx, {70, 12}),
                 labels = Tensor::Full(ctx, {70, 1}, 1);
    const auto step = [&] {
      optimizer.ZeroGrad();
      Tape tape(ctx);
      const Variable z = DotInteraction(ctx, lower.Forward(ctx, dense), sparse);
      const Variable logits = upper.Forward(ctx, z);
      tape.Backward(Add(ctx, BceWithLogits(ctx, logits, labels),
                        InBatchSoftmax(ctx, z, z, {.normalize = true})));
      optimizer.Step(ctx);
    };
    if (captured) {
      const CudaGraph graph = CudaGraph::Capture(ctx, step);
      for (int i = 0; i < 3; ++i) graph.Launch(ctx);
      ctx.Sync();
    } else {
      for (int i = 0; i < 3; ++i) step();
    }
    std::vector<Tensor> result;
    for (const NamedParameter& p : parameters) result.push_back(p.variable.value().ToHost());
    return result;
  };
  const std::vector<Tensor> played = train(true), plain = train(false);
  for (size_t i = 0; i < plain.size(); ++i) EXPECT_TRUE(SameBits(played[i], plain[i])) << i;
}

TEST_P(ProjectionInteractionTest, ShapesNamesAndErrors) {
  Context ctx({.device = device(), .seed = 6});
  const ProjectionInteraction module(ctx, 3, 4, {10, 8}, {12});
  EXPECT_EQ(module.out_size(), 10);
  EXPECT_EQ(module.Forward(ctx, RandomTensor(ctx, {5, 4}), RandomTensor(ctx, {5, 12})).shape(),
            (Shape{5, 10}));
  EXPECT_EQ(Names(module)[4], "interaction_branch2.model._mlp.0._linear.weight[12, 16]");
  EXPECT_THROW(ProjectionInteraction(ctx, 3, 4, {10, 7}, {12}), Error);
  EXPECT_THROW(ProjectionInteraction(ctx, 3, 4, {8}, {13}), Error);
}

}  // namespace
}  // namespace tessera
