// Cross nets, factorization machines, attention: gradients, names, and results against their
// formulas.
#include <gtest/gtest.h>

#include "models/layers/attention.h"
#include "models/layers/cross_net.h"
#include "models/layers/factorization_machine.h"
#include "models/layers/interaction.h"
#include "runtime/ops/shaping.h"
#include "tests/testing/devices.h"
#include "tests/testing/finite_differences.h"

namespace tessera {
namespace {

using testing::ExpectCpusBits;
using testing::ExpectGradient;
using testing::RandomTensor;

class CrossNetTest : public testing::DeviceTest {};
TESSERA_INSTANTIATE_DEVICES(CrossNetTest);
class FactorizationMachineTest : public testing::DeviceTest {};
TESSERA_INSTANTIATE_DEVICES(FactorizationMachineTest);
class AttentionTest : public testing::DeviceTest {};
TESSERA_INSTANTIATE_DEVICES(AttentionTest);

std::vector<std::string> Names(const Module& module) {
  std::vector<std::string> names;
  for (const NamedParameter& p : module.Parameters())
    names.push_back(p.name + ToString(p.variable.shape()));
  return names;
}

TEST_P(CrossNetTest, NamesAreTorchRecs) {
  Context ctx({.device = device()});
  using Strings = std::vector<std::string>;
  EXPECT_EQ(Names(CrossNet(ctx, 3, 2)),
            (Strings{"kernels.0[3, 3]", "kernels.1[3, 3]", "bias.0[3, 1]", "bias.1[3, 1]"}));
  EXPECT_EQ(Names(LowRankCrossNet(ctx, 3, 1, 2)),
            (Strings{"W_kernels.0[3, 2]", "V_kernels.0[2, 3]", "bias.0[3]"}));
  EXPECT_EQ(Names(VectorCrossNet(ctx, 3, 1)), (Strings{"kernels.0[3, 1]", "bias.0[3, 1]"}));
  EXPECT_EQ(Names(LowRankMixtureCrossNet(ctx, 4, 1, {.num_experts = 2, .low_rank = 3})),
            (Strings{"U_kernels.0[2, 4, 3]", "V_kernels.0[2, 3, 4]", "bias.0[4, 1]",
                     "gates.0.weight[1, 4]", "gates.1.weight[1, 4]", "C_kernels.0[2, 3, 3]"}));
  EXPECT_EQ(Names(LowRankMixtureCrossNet(ctx, 4, 1)).size(), 4u);  // one expert has no gate
  EXPECT_EQ(Names(DcnInteraction(ctx, 2, 4, 1, 3)),
            (Strings{"crossnet.W_kernels.0[12, 3]", "crossnet.V_kernels.0[3, 12]",
                     "crossnet.bias.0[12]"}));
}

TEST_P(CrossNetTest, Gradients) {
  Context ctx({.device = device(), .seed = 1});
  const auto check = [&](const auto& net) {
    ExpectGradient(ctx, [&](Context& c, const auto& v) { return net.Forward(c, v[0]); },
                   {RandomTensor(ctx, {4, 6})}, {.tolerance = 3e-3});
  };
  check(CrossNet(ctx, 6, 3));
  check(LowRankCrossNet(ctx, 6, 3, 2));
  check(VectorCrossNet(ctx, 6, 3));
  check(LowRankMixtureCrossNet(ctx, 6, 2,
                               {.num_experts = 3, .low_rank = 4, .activation = Activation::kTanh}));
}

TEST_P(CrossNetTest, Errors) {
  Context ctx({.device = device()});
  EXPECT_THROW(CrossNet(ctx, 0, 1), Error);
  EXPECT_THROW(CrossNet(ctx, 3, 0), Error);
  EXPECT_THROW(LowRankCrossNet(ctx, 3, 1, 0), Error);
  EXPECT_THROW(LowRankMixtureCrossNet(ctx, 3, 1, {.num_experts = 0}), Error);
  EXPECT_THROW(LowRankMixtureCrossNet(ctx, 3, 1, {.activation = Activation::kSwishLayerNorm}),
               Error);
  EXPECT_THROW(CrossNet(ctx, 3, 1).Forward(ctx, RandomTensor(ctx, {2, 4})), Error);
}

TEST_P(FactorizationMachineTest, IsTheSumOfAllProductsOfTwo) {
  Context ctx({.device = device(), .seed = 2});
  const Variable v = JoinedRows(ctx, {RandomTensor(ctx, {3, 5}), RandomTensor(ctx, {3, 2, 30})});
  ASSERT_EQ(v.shape(), (Shape{3, 65}));
  const Tensor y = FactorizationMachine(ctx, v).value().ToHost(), in = v.value().ToHost();
  ASSERT_EQ(y.shape(), (Shape{3, 1}));
  for (int64_t b = 0; b < 3; ++b) {
    const float* row = in.data<float>() + b * 65;
    double sum = 0;
    for (int i = 0; i < 65; ++i)
      for (int j = i + 1; j < 65; ++j) sum += static_cast<double>(row[i]) * row[j];
    EXPECT_NEAR(y.data<float>()[b], sum, 1e-5);
  }
}

TEST_P(FactorizationMachineTest, GradientsAndBits) {
  Context ctx({.device = device(), .seed = 3});
  const auto fm = [](Context& c, const auto& v) { return FactorizationMachine(c, v[0]); };
  ExpectGradient(ctx, fm, {RandomTensor(ctx, {3, 40})});
  ExpectCpusBits(device(), [&](Context& c, const auto& v) { return std::vector{fm(c, v)}; },
                 {{9, 77}});
  const DeepFm deep(ctx, 11, {8, 3});
  EXPECT_EQ(Names(deep)[2], "dense_module._mlp.1._linear.weight[3, 8]");
  EXPECT_EQ(deep.Forward(ctx, {RandomTensor(ctx, {4, 5}), RandomTensor(ctx, {4, 2, 3})}).shape(),
            (Shape{4, 3}));
  EXPECT_THROW(JoinedRows(ctx, {}), Error);
  EXPECT_THROW(JoinedRows(ctx, {RandomTensor(ctx, {4, 5}), RandomTensor(ctx, {3, 5})}), Error);
}

TEST_P(AttentionTest, Gradients) {
  Context ctx({.device = device(), .seed = 4});
  const Tensor lengths = Tensor::From<int64_t>(ctx, {3, 1});
  const MultiHeadAttention attention(ctx, 4, 2);
  ExpectGradient(ctx,
                 [&](Context& c, const auto& v) { return attention.Forward(c, v[0], lengths); },
                 {RandomTensor(ctx, {6, 4})}, {.tolerance = 3e-3});
  EXPECT_EQ(
      Names(TransformerBlock(ctx, 4, 2, 8)),
      (std::vector<std::string>{"self_attn.in_proj_weight[12, 4]", "self_attn.in_proj_bias[12]",
                                "self_attn.out_proj.weight[4, 4]", "self_attn.out_proj.bias[4]",
                                "linear1.weight[8, 4]", "linear1.bias[8]", "linear2.weight[4, 8]",
                                "linear2.bias[4]", "norm1.weight[4]", "norm1.bias[4]",
                                "norm2.weight[4]", "norm2.bias[4]"}));
}

// Positions of a sequence see each other, but neither padding nor other sequences.
TEST_P(AttentionTest, PaddingIsNotSeen) {
  Context ctx({.device = device(), .seed = 5});
  const TransformerBlock block(ctx, 8, 2, 16);
  const Tensor lengths = Tensor::From<int64_t>(ctx, {2, 3}), x = RandomTensor(ctx, {6, 8});
  const auto rows = [&](const Tensor& in) { return block.Forward(ctx, in, lengths).value(); };
  const Tensor before = rows(x);
  Tensor changed = x.Clone(ctx);
  changed.Rows(2, 3).Fill(ctx, 9);  // padding of the first
  EXPECT_TRUE(SameBits(rows(changed).Rows(0, 2), before.Rows(0, 2)));
  EXPECT_TRUE(SameBits(rows(changed).Rows(3, 6), before.Rows(3, 6)));
  changed.Rows(4, 5).Fill(ctx, 9);  // of the second
  EXPECT_TRUE(SameBits(rows(changed).Rows(0, 2), before.Rows(0, 2)));
  for (int64_t r = 3; r < 6; ++r)
    EXPECT_FALSE(SameBits(rows(changed).Rows(r, r + 1), before.Rows(r, r + 1))) << r;
}

TEST_P(AttentionTest, AloneItIsItsOwnValue) {
  Context ctx({.device = device(), .seed = 6});
  const MultiHeadAttention attention(ctx, 4, 1);
  const Tensor x = RandomTensor(ctx, {3, 4});
  const Tensor one = Tensor::From<int64_t>(ctx, {1, 1, 1}), all = Tensor::From<int64_t>(ctx, {3});
  const Tensor alone = attention.Forward(ctx, x, one).value();
  EXPECT_FALSE(SameBits(attention.Forward(ctx, x, all).value(), alone));
  EXPECT_THROW(MultiHeadAttention(ctx, 4, 3), Error);
  EXPECT_THROW(attention.Forward(ctx, RandomTensor(ctx, {3, 5}), one), Error);
  EXPECT_THROW(attention.Forward(ctx, x, Tensor::From<int64_t>(ctx, {1, 1})), Error);
}

}  // namespace
}  // namespace tessera
