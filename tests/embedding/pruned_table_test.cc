// Tables with an index remap, and the bounds check's report, through TableBatchedEmbedding.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "embedding/lookup/index_remap.h"
#include "embedding/table_batched_embedding.h"
#include "runtime/ops/arithmetic.h"
#include "tests/testing/devices.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::ThrowsMessage;

class PrunedTableTest : public testing::DeviceTest {
 protected:
  // Rows 1, 2, 3, of dim 1, which ids 9, 4 and 0 of 10 name; key "a" reads it, and key "b" a table
  // of the same rows that is not pruned.
  TableBatchedEmbedding Make(RemapKind kind, PoolingType pooling, BoundsCheckMode mode) {
    const std::vector<RemapEntry> entries = {{9, 0}, {4, 1}, {0, 2}};
    BaseEmbeddingConfig config;
    config.num_embeddings = 3;
    config.embedding_dim = 1;
    config.optimizer = Sgd{1.0f};
    config.init_fn = [](Context& c, const Tensor& weight) {
      weight.CopyFrom(c, Tensor::From<float>(c, {3, 1}, {1, 2, 3}));
    };
    std::vector<BaseEmbeddingConfig> configs(2, config);
    configs[0].name = "pruned";
    configs[0].index_remap = std::make_shared<IndexRemap>(ctx(), kind, entries, 10, 3);
    configs[1].name = "whole";
    return TableBatchedEmbedding(ctx(), configs, {pooling, pooling}, {{"a", 0, "a"}, {"b", 1, "b"}},
                                 {.bounds_check = mode});
  }
  KeyedJaggedTensor Kjt(const std::vector<int32_t>& ids, const std::vector<int32_t>& lengths) {
    return KeyedJaggedTensor::FromLengthsSync({"a", "b"}, Tensor::From(ctx(), ids),
                                              Tensor::From(ctx(), lengths));
  }
};

TEST_P(PrunedTableTest, PrunedIdsAddNothingAndCountInMean) {
  for (const RemapKind kind : {RemapKind::kArray, RemapKind::kHash}) {
    TableBatchedEmbedding tables = Make(kind, PoolingType::kMean, BoundsCheckMode::kFatal);
    Tape tape(ctx());
    // "a": {0, 5, 4, 9}, {5}; "b": {2}, {}.
    const Variable out = tables.Forward(ctx(), Kjt({0, 5, 4, 9, 5, 2}, {4, 1, 1, 0}));
    EXPECT_THAT(out.value().ToVector<float>(), ElementsAre((3 + 2 + 1) / 4.0f, 3, 0, 0));
    tape.Backward(Sum(ctx(), out));
    EXPECT_THAT(tables.weight(0).ToVector<float>(), ElementsAre(0.75, 1.75, 2.75));
    EXPECT_THAT(tables.weight(1).ToVector<float>(), ElementsAre(1, 2, 2));
  }
}

TEST_P(PrunedTableTest, BoundsAreThoseOfTheIdsInTheData) {
  TableBatchedEmbedding fatal = Make(RemapKind::kHash, PoolingType::kSum, BoundsCheckMode::kFatal);
  EXPECT_THAT(
      [&] {
        fatal.Forward(ctx(), Kjt({9, 10, 1}, {1, 1, 1, 0}));
      },
      ThrowsMessage<Error>(
          HasSubstr("feature a: id 10 at position 1 of the batch's ids, but its table has 10 rows "
                    "(in bag 1; bad ids of the feature: 1)")));
  // Mended to id 0, which is row 2.
  TableBatchedEmbedding warning =
      Make(RemapKind::kArray, PoolingType::kSum, BoundsCheckMode::kWarning);
  EXPECT_THAT(warning.Forward(ctx(), Kjt({9, 10, 1}, {1, 1, 1, 0})).value().ToVector<float>(),
              ElementsAre(1, 2, 3, 0));
  TableBatchedEmbedding none = Make(RemapKind::kArray, PoolingType::kSum, BoundsCheckMode::kNone);
  EXPECT_THAT(none.Forward(ctx(), Kjt({9, 10, 1}, {1, 1, 1, 0})).value().ToVector<float>(),
              ElementsAre(1, 2, 0, 0));
}

TEST_P(PrunedTableTest, ReportsByFeature) {
  TableBatchedEmbedding tables =
      Make(RemapKind::kArray, PoolingType::kSum, BoundsCheckMode::kWarning);
  tables.Forward(ctx(), Kjt({9, 1, 3, -2, 1}, {1, 1, 0, 3}));
  tables.Forward(ctx(), Kjt({9, 77}, {1, 0, 1, 0}));
  EXPECT_EQ(tables.bounds_check_warnings(), 3);
  const BoundsCheckReport report = tables.bounds_check_report();
  ASSERT_EQ(report.features.size(), 2u);
  EXPECT_EQ(report.features[0].feature, "a");
  EXPECT_THAT(report.features[0].examples, IsEmpty());
  EXPECT_EQ(report.features[1].bad_ids, 3);
  EXPECT_THAT(report.features[1].examples, ElementsAre(BadId{1, 3}, BadId{1, -2}, BadId{0, 77}));
}

TEST_P(PrunedTableTest, RefusesAMapToOtherRows) {
  BaseEmbeddingConfig config;
  config.name = "t";
  config.num_embeddings = 4;
  config.embedding_dim = 1;
  config.index_remap =
      std::make_shared<IndexRemap>(ctx(), RemapKind::kArray, std::vector<RemapEntry>{}, 10, 3);
  EXPECT_THAT(
      [&] {
        TableBatchedEmbedding(ctx(), {config}, {PoolingType::kSum}, {{"a", 0, "a"}});
      },
      ThrowsMessage<Error>(HasSubstr("table t: rows that its index remap names")));
}

TESSERA_INSTANTIATE_DEVICES(PrunedTableTest);

}  // namespace
}  // namespace tessera
