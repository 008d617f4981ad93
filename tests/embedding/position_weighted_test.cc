#include "embedding/position_weighted.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/ops/arithmetic.h"
#include "tests/testing/devices.h"
#include "tests/testing/finite_differences.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

KeyedJaggedTensor KjtOf(Context& ctx, std::vector<std::string> keys,
                        const std::vector<int64_t>& lengths) {
  int64_t ids = 0;
  for (const int64_t n : lengths) ids += n;
  KeyedJaggedTensorArgs args;
  args.keys = std::move(keys);
  args.values = Tensor::Zeros(ctx, {ids}, DType::kI64);
  args.lengths = Tensor::From(ctx, lengths);
  return KeyedJaggedTensor(std::move(args));
}

void SetWeight(Context& ctx, const Variable& weight, const std::vector<float>& values) {
  weight.value().CopyFrom(ctx, Tensor::From(ctx, values));
}

// Gradients of the position weights of keys "a" and "b" when the ids' weights have gradient `grad`.
std::vector<Tensor> Gradients(Context& ctx, const KeyedJaggedTensor& kjt, const Tensor& grad,
                              int64_t length_a, int64_t length_b) {
  PositionWeightedModuleCollection weights(ctx, {{"a", length_a}, {"b", length_b}},
                                           LongBags::kSurplusWeighsNothing);
  Tape tape(ctx);
  const KeyedJaggedTensor weighted = weights.Forward(ctx, kjt);
  tape.Backward(weighted.weights(), grad);
  return {weights.position_weight("a").grad(), weights.position_weight("b").grad()};
}

class PositionWeightedTest : public testing::DeviceTest {};

TEST_P(PositionWeightedTest, AnIdWeighsWhatItsPositionDoes) {
  PositionWeightedModuleCollection weights(ctx(), {{"c", 2}, {"a", 4}});
  SetWeight(ctx(), weights.position_weight("a"), {2, 3, 4, 5});
  SetWeight(ctx(), weights.position_weight("c"), {7, 8});
  const KeyedJaggedTensor kjt = KjtOf(ctx(), {"a", "b", "c"}, {3, 0, 1, 2, 2, 1});
  const KeyedJaggedTensor weighted = weights.Forward(ctx(), kjt);
  EXPECT_THAT(weighted.weights().value().ToVector<float>(), ElementsAre(2, 3, 4, 1, 1, 1, 7, 8, 7));
  EXPECT_EQ(weighted.values().raw_data(), kjt.values().raw_data());
  // The batch's own weights are replaced.
  const KeyedJaggedTensor again = weights.Forward(ctx(), weighted);
  EXPECT_TRUE(SameBits(again.weights().value(), weighted.weights().value()));
}

TEST_P(PositionWeightedTest, StartsAtOneAndHasTorchRecsNames) {
  const PositionWeightedModuleCollection weights(ctx(), {{"c", 2}, {"a", 3}});
  std::vector<NamedParameter> parameters;
  weights.AppendParameters("fp.", parameters);
  ASSERT_EQ(parameters.size(), 2u);
  EXPECT_EQ(parameters[0].name, "fp.position_weights.c");
  EXPECT_EQ(parameters[1].name, "fp.position_weights.a");
  EXPECT_TRUE(parameters[0].variable.requires_grad());
  EXPECT_THAT(parameters[1].variable.value().ToVector<float>(), ElementsAre(1, 1, 1));
}

TEST_P(PositionWeightedTest, RefusesLongBagsOrWeighsTheirSurplusAsNothing) {
  const KeyedJaggedTensor kjt = KjtOf(ctx(), {"x", "a", "b"}, {9, 9, 2, 3, 4, 9});
  PositionWeightedModuleCollection refusing(ctx(), {{"a", 2}, {"b", 2}});
  EXPECT_THAT([&] { refusing.Forward(ctx(), kjt); },
              ThrowsMessage<Error>(HasSubstr(
                  "feature a, example 1: the bag is longer than the 2 positions that have a")));
  PositionWeightedModuleCollection lenient(ctx(), {{"a", 2}}, LongBags::kSurplusWeighsNothing);
  const std::vector<float> all = lenient.Forward(ctx(), kjt).weights().value().ToVector<float>();
  EXPECT_THAT(std::vector<float>(all.begin() + 18, all.begin() + 24),
              ElementsAre(1, 1, 1, 1, 0, 1));
}

TEST_P(PositionWeightedTest, RefusesBadArguments) {
  EXPECT_THAT(
      [&] {
        PositionWeightedModuleCollection(ctx(), {{"a", 0}});
      },
      ThrowsMessage<Error>(HasSubstr("feature a: positions that have a weight")));
  EXPECT_THAT(
      [&] {
        PositionWeightedModuleCollection(ctx(), {{"a", 1}, {"a", 2}});
      },
      ThrowsMessage<Error>(HasSubstr("feature a: it has position weights already")));
  EXPECT_THROW(PositionWeightedModuleCollection(ctx(), {}).position_weight("a"), Error);
}

TEST_P(PositionWeightedTest, GradientSumsOverBags) {
  const KeyedJaggedTensor kjt = KjtOf(ctx(), {"b", "a"}, {2, 1, 1, 3});
  const std::vector<Tensor> grads =
      Gradients(ctx(), kjt, Tensor::From<float>(ctx(), {1, 2, 4, 8, 16, 32, 64}), 2, 3);
  EXPECT_THAT(grads[0].ToVector<float>(), ElementsAre(24, 32));  // the third position has no weight
  EXPECT_THAT(grads[1].ToVector<float>(), ElementsAre(5, 2, 0));
}

TEST_P(PositionWeightedTest, GradientAgreesWithDifferences) {
  const KeyedJaggedTensor kjt = KjtOf(ctx(), {"a", "x", "b"}, {2, 0, 3, 1, 1, 1, 0, 4, 2});
  testing::ExpectGradient(
      ctx(),
      [&](Context& c, const std::vector<Variable>& v) {
        const Variable w = PositionWeights(c, kjt, {{"a", v[0]}, {"b", v[1]}}, LongBags::kRefuse);
        return Mul(c, w, w);
      },
      {testing::RandomTensor(ctx(), {3}), testing::RandomTensor(ctx(), {5})});
}

TEST_P(PositionWeightedTest, BitsOfTheGradientDependOnNothing) {
  std::vector<int64_t> lengths;
  for (int64_t b = 0; b < 1400; ++b) lengths.push_back(b * b % 7);
  Context one({.threads = 1, .seed = 3});
  const KeyedJaggedTensor on_host = KjtOf(one, {"a", "b"}, lengths);
  const Tensor grad = testing::RandomTensor(one, {on_host.values().numel()}, 0.3);
  const std::vector<Tensor> expected = Gradients(one, on_host, grad, 4, 7),
                            got = Gradients(ctx(), KjtOf(ctx(), {"a", "b"}, lengths),
                                            grad.To(ctx(), ctx().device()), 4, 7);
  for (size_t k = 0; k < 2; ++k)
    EXPECT_TRUE(SameBits(got[k].To(ctx(), Device::Cpu()), expected[k])) << k;
}

TEST_P(PositionWeightedTest, OneFeature) {
  PositionWeightedModule module(ctx(), 2);
  SetWeight(ctx(), module.position_weight(), {3, 5});
  const JaggedTensor ids(Tensor::Zeros(ctx(), {4}, DType::kI32),
                         Tensor::From<int32_t>(ctx(), {2, 0, 1, 1}));
  Tape tape(ctx());
  const JaggedTensor weighted = module.Forward(ctx(), ids);
  EXPECT_THAT(weighted.weights().value().ToVector<float>(), ElementsAre(3, 5, 3, 3));
  tape.Backward(Sum(ctx(), weighted.weights()));
  EXPECT_THAT(module.position_weight().grad().ToVector<float>(), ElementsAre(3, 1));
}

TEST_P(PositionWeightedTest, EmptyBatches) {
  PositionWeightedModuleCollection weights(ctx(), {{"a", 2}});
  EXPECT_EQ(weights.Forward(ctx(), KjtOf(ctx(), {"a", "b"}, {})).weights().value().numel(), 0);
  const std::vector<Tensor> grads =
      Gradients(ctx(), KjtOf(ctx(), {"a", "b"}, {0, 0, 0, 0}), Tensor::Zeros(ctx(), {0}), 2, 1);
  EXPECT_THAT(grads[0].ToVector<float>(), ElementsAre(0, 0));
}

TESSERA_INSTANTIATE_DEVICES(PositionWeightedTest);

}  // namespace
}  // namespace tessera
