#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "embedding/embedding_bag_collection.h"
#include "embedding/embedding_collection.h"
#include "runtime/ops/arithmetic.h"
#include "tests/testing/devices.h"
#include "tests/testing/error_of.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;

template <typename Config>
Config Make(const std::string& name, int64_t dim, std::vector<std::string> features, float value) {
  Config config;
  config.name = name;
  config.num_embeddings = 5;
  config.embedding_dim = dim;
  config.feature_names = std::move(features);
  config.init_fn = [value](Context& ctx, const Tensor& weight) { weight.Fill(ctx, value); };
  return config;
}

class CollectionsTest : public testing::DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    if (IsSkipped()) return;
    kjt_ = KeyedJaggedTensor::FromLengthsSync({"x", "a", "b"},
                                              Tensor::From<int64_t>(ctx(), {4, 1, 2, 3, 0}),
                                              Tensor::From<int64_t>(ctx(), {1, 0, 2, 0, 1, 1}));
  }
  KeyedJaggedTensor kjt_;
};

TEST_P(CollectionsTest, PooledColumnsComeInTableOrderAndSharedFeaturesNameTheirTable) {
  EmbeddingBagCollection ebc(ctx(), {Make<EmbeddingBagConfig>("t", 2, {"b", "a"}, 1),
                                     Make<EmbeddingBagConfig>("u", 1, {"a"}, 10)});
  const KeyedTensor out = ebc.Forward(ctx(), kjt_);
  EXPECT_THAT(out.keys(), ElementsAre("b", "a@t", "a@u"));
  EXPECT_THAT(out.length_per_key(), ElementsAre(2, 2, 1));
  EXPECT_THAT(out.values().value().ToVector<float>(), ElementsAre(1, 1, 2, 2, 20, 1, 1, 0, 0, 0));
}

TEST_P(CollectionsTest, OutputsOfOneNameAreRefused) {
  const auto error = [&](auto... tables) {
    return testing::ErrorOf([&] { EmbeddingBagCollection(ctx(), {tables...}); });
  };
  EXPECT_EQ(
      error(Make<EmbeddingBagConfig>("t", 1, {"a@u"}, 1),
            Make<EmbeddingBagConfig>("u", 1, {"a"}, 2), Make<EmbeddingBagConfig>("v", 1, {"a"}, 3)),
      "expected outputs of different names, but feature a@u of table t and feature a of "
      "table u both give a@u: rename a table or a feature");
  EXPECT_EQ(error(Make<EmbeddingBagConfig>("t", 1, {"a", "b", "a"}, 1)),
            "table t: expected each feature once, got a twice");
}

TEST_P(CollectionsTest, SequencesMayDifferInDimAndBringTheirIds) {
  EmbeddingCollection ec(
      ctx(), {Make<EmbeddingConfig>("t", 2, {"a"}, 1), Make<EmbeddingConfig>("u", 3, {"b"}, 10)},
      {.need_indices = true});
  const auto out = ec.Forward(ctx(), kjt_);
  ASSERT_EQ(out.size(), 2u);
  EXPECT_EQ(out[0].first, "a");
  EXPECT_EQ(out[0].second.values().shape(), (Shape{2, 2}));
  EXPECT_EQ(out[1].second.values().shape(), (Shape{2, 3}));
  EXPECT_THAT(out[0].second.lengths(ctx()).ToVector<int64_t>(), ElementsAre(2, 0));
  EXPECT_THAT(out[1].second.weights().value().ToVector<float>(), ElementsAre(3, 0));
}

TEST_P(CollectionsTest, EachTableHasItsOwnOptimizer) {
  std::vector<EmbeddingBagConfig> configs = {Make<EmbeddingBagConfig>("t", 1, {"a"}, 0),
                                             Make<EmbeddingBagConfig>("u", 1, {"b"}, 0)};
  configs[0].optimizer = Sgd{0.5f};
  configs[1].optimizer = RowwiseAdagrad{0.25f, 0.0f};
  EmbeddingBagCollection ebc(ctx(), configs);
  Tape tape(ctx());
  tape.Backward(Sum(ctx(), ebc.Forward(ctx(), kjt_).values()));
  EXPECT_THAT(ebc.tables().weight(0).ToVector<float>(), ElementsAre(0, -0.5f, -0.5f, 0, 0));
  EXPECT_THAT(ebc.tables().weight(1).ToVector<float>(), ElementsAre(-0.25f, 0, 0, -0.25f, 0));
  EXPECT_EQ(ebc.tables().optimizer_states(1)[0].name, "momentum1");
}

TEST_P(CollectionsTest, OptionsReachTheTables) {
  std::vector<EmbeddingBagConfig> configs = {Make<EmbeddingBagConfig>("t", 2, {"a", "b"}, 1)};
  configs[0].data_type = DType::kF16;
  configs[0].optimizer = RowwiseAdagrad{};
  configs[0].state_type = DType::kBF16;
  EmbeddingBagCollection ebc(ctx(), configs,
                             {.is_weighted = true,
                              .feature_requires_grad = {true, false},
                              .output_type = DType::kBF16,
                              .rounding_seed = 3});
  EXPECT_EQ(ebc.tables().options().rounding_seed, 3u);
  EXPECT_EQ(ebc.tables().weight(0).dtype(), DType::kF16);
  EXPECT_EQ(ebc.tables().optimizer_states(0)[0].tensor.dtype(), DType::kBF16);
  const Variable weights(Tensor::Full(ctx(), {5}, 1), /*requires_grad=*/true);
  const KeyedJaggedTensor weighted =
      KeyedJaggedTensor::FromLengthsSync(kjt_.keys(), kjt_.values(), kjt_.lengths(ctx()), weights);
  Tape tape(ctx());
  const Variable out = ebc.Forward(ctx(), weighted).values();
  EXPECT_EQ(out.value().dtype(), DType::kBF16);
  tape.Backward(out, Tensor::Full(ctx(), out.shape(), 1, DType::kBF16));
  EXPECT_THAT(weights.grad().ToVector<float>(), ElementsAre(0, 2, 2, 0, 0));
  EmbeddingCollection ec(ctx(), {Make<EmbeddingConfig>("t", 2, {"a"}, 1)},
                         {.output_type = DType::kF16});
  EXPECT_EQ(ec.Forward(ctx(), kjt_)[0].second.values().value().dtype(), DType::kF16);
}

TEST_P(CollectionsTest, RefusesTablesThatNobodyReadsAndPoolingNone) {
  EXPECT_THROW(EmbeddingBagCollection(ctx(), {Make<EmbeddingBagConfig>("t", 2, {}, 1)}), Error);
  EmbeddingBagConfig none = Make<EmbeddingBagConfig>("t", 2, {"a"}, 1);
  none.pooling = PoolingType::kNone;
  EXPECT_THROW(EmbeddingBagCollection(ctx(), {none}), Error);
}

TESSERA_INSTANTIATE_DEVICES(CollectionsTest);

}  // namespace
}  // namespace tessera
