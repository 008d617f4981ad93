#include "embedding/feature_processed_embedding_bag_collection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "embedding/position_weighted.h"
#include "runtime/ops/arithmetic.h"
#include "tests/testing/devices.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

class FeatureProcessedEmbeddingBagCollectionTest : public testing::DeviceTest {
 protected:
  // One table of dim 1, whose row e is e + 1, for keys "a" (2 positions) and "b" (no positions).
  FeatureProcessedEmbeddingBagCollection Make(bool is_weighted) {
    EmbeddingBagConfig config;
    config.name = "t";
    config.num_embeddings = 4;
    config.embedding_dim = 1;
    config.feature_names = {"a", "b"};
    config.optimizer = Sgd{1.0f};
    config.init_fn = [](Context& c, const Tensor& weight) {
      weight.CopyFrom(c, Tensor::From<float>(c, {4, 1}, {1, 2, 3, 4}));
    };
    return FeatureProcessedEmbeddingBagCollection(
        std::make_unique<EmbeddingBagCollection>(
            ctx(), std::vector<EmbeddingBagConfig>{config},
            EmbeddingBagCollectionOptions{.is_weighted = is_weighted}),
        std::make_unique<PositionWeightedModuleCollection>(
            ctx(), std::vector<std::pair<std::string, int64_t>>{{"a", 2}}));
  }
};

TEST_P(FeatureProcessedEmbeddingBagCollectionTest, TrainsTablesAndPositions) {
  FeatureProcessedEmbeddingBagCollection module = Make(true);
  std::vector<NamedParameter> parameters;
  module.AppendParameters("", parameters);
  ASSERT_EQ(parameters.size(), 1u);
  EXPECT_EQ(parameters[0].name, "_feature_processors.position_weights.a");
  parameters[0].variable.value().CopyFrom(ctx(), Tensor::From<float>(ctx(), {10, 100}));

  const KeyedJaggedTensor kjt =
      KeyedJaggedTensor::FromLengthsSync({"a", "b"}, Tensor::From<int32_t>(ctx(), {0, 3, 2, 1, 1}),
                                         Tensor::From<int32_t>(ctx(), {2, 1, 0, 2}));
  Tape tape(ctx());
  const KeyedTensor out = module.Forward(ctx(), kjt);
  EXPECT_THAT(out.values().value().ToVector<float>(),
              ElementsAre(10 * 1 + 100 * 4, 0, 10 * 3, 2 + 2));
  tape.Backward(Sum(ctx(), out.values()));
  EXPECT_THAT(parameters[0].variable.grad().ToVector<float>(), ElementsAre(1 + 3, 4));
  EXPECT_THAT(module.embedding_bag_collection().tables().weight(0).ToVector<float>(),
              ElementsAre(1 - 10, 2 - 2, 3 - 10, 4 - 100));
}

TEST_P(FeatureProcessedEmbeddingBagCollectionTest, NeedsAWeightedCollection) {
  EXPECT_THAT([&] { Make(false); }, ThrowsMessage<Error>(HasSubstr("make it with is_weighted")));
}

TESSERA_INSTANTIATE_DEVICES(FeatureProcessedEmbeddingBagCollectionTest);

}  // namespace
}  // namespace tessera
