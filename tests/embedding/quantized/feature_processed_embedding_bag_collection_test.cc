#include "embedding/quantized/feature_processed_embedding_bag_collection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "embedding/position_weighted.h"
#include "tests/testing/devices.h"

namespace tessera {
namespace {

class QuantFeatureProcessedEmbeddingBagCollectionTest : public testing::DeviceTest {
 protected:
  std::unique_ptr<EmbeddingBagCollection> MakeTables(bool is_weighted) {
    std::vector<EmbeddingBagConfig> tables(2);
    for (size_t t = 0; t < 2; ++t) {
      tables[t].name = t == 0 ? "ta" : "tb";
      tables[t].num_embeddings = 20;
      tables[t].embedding_dim = 8;
      tables[t].feature_names = {t == 0 ? "a" : "b"};
    }
    return std::make_unique<EmbeddingBagCollection>(
        ctx(), tables, EmbeddingBagCollectionOptions{.is_weighted = is_weighted});
  }
  // Feature "a" has learned weights for its positions, "b" has none.
  FeatureProcessedEmbeddingBagCollection MakeFloat() {
    auto processor = std::make_shared<PositionWeightedModuleCollection>(
        ctx(), std::vector<std::pair<std::string, int64_t>>{{"a", 3}});
    processor->position_weight("a").value().CopyFrom(ctx(),
                                                     Tensor::From<float>(ctx(), {0.5f, 2, -1}));
    return FeatureProcessedEmbeddingBagCollection(MakeTables(/*is_weighted=*/true), processor);
  }
  KeyedJaggedTensor Batch() {
    return KeyedJaggedTensor::FromLengthsSync({"a", "b"},
                                              Tensor::From<int64_t>(ctx(), {3, 4, 5, 6, 7, 8}),
                                              Tensor::From<int64_t>(ctx(), {3, 1, 0, 2}));
  }
};

TEST_P(QuantFeatureProcessedEmbeddingBagCollectionTest, IsTheCollectionOfProcessedFeatures) {
  FeatureProcessedEmbeddingBagCollection exact = MakeFloat();
  for (const RowType type : {RowType::kF32, RowType::kInt8}) {
    const auto stored =
        quant::Quantize(ctx(), exact, {.all = {.codec = {type}}}, {.output_type = DType::kF32});
    const Tensor got = stored.Forward(ctx(), Batch()).values();
    const KeyedJaggedTensor weighted = exact.feature_processor().Forward(ctx(), Batch());
    EXPECT_TRUE(
        SameBits(got, stored.embedding_bag_collection().Forward(ctx(), weighted).values().value()));
    const std::vector<float> numbers = got.ToVector<float>(),
                             expected =
                                 exact.Forward(ctx(), Batch()).values().value().ToVector<float>();
    EXPECT_THAT(numbers, ::testing::Pointwise(
                             ::testing::FloatNear(type == RowType::kF32 ? 0 : 0.01f), expected));
  }
}

TEST_P(QuantFeatureProcessedEmbeddingBagCollectionTest, GoesOnWithTheFloatCollectionsProcessor) {
  FeatureProcessedEmbeddingBagCollection exact = MakeFloat();
  const auto stored = quant::Quantize(ctx(), exact);
  EXPECT_EQ(&stored.feature_processor(), &exact.feature_processor());
}

TEST_P(QuantFeatureProcessedEmbeddingBagCollectionTest, RefusesWhatWouldDoNothing) {
  FeatureProcessedEmbeddingBagCollection exact = MakeFloat();
  const auto quantize = [&](bool weighted) {
    return quant::Quantize(ctx(), *MakeTables(weighted));
  };
  using quant::FeatureProcessedEmbeddingBagCollection;
  EXPECT_THROW(FeatureProcessedEmbeddingBagCollection(quantize(true), nullptr), Error);
  EXPECT_THROW(
      FeatureProcessedEmbeddingBagCollection(quantize(false), exact.shared_feature_processor()),
      Error);
}

TESSERA_INSTANTIATE_DEVICES(QuantFeatureProcessedEmbeddingBagCollectionTest);

}  // namespace
}  // namespace tessera
