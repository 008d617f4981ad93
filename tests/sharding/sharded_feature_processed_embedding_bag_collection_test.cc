#include "sharding/sharded_feature_processed_embedding_bag_collection.h"

#include <gtest/gtest.h>

#include "comm/local_communicator.h"
#include "embedding/feature_processed_embedding_bag_collection.h"
#include "embedding/position_weighted.h"
#include "runtime/ops/arithmetic.h"
#include "sharding/distributed_model_parallel.h"
#include "sharding/plan/plan_makers.h"
#include "tests/testing/devices.h"

namespace tessera {
namespace {

EmbeddingBagConfig Config() {
  EmbeddingBagConfig config;
  config.name = "t";
  config.num_embeddings = 10;
  config.embedding_dim = 4;
  config.feature_names = {"a", "b"};
  config.optimizer = Sgd{0.5f};
  return config;
}

std::unique_ptr<FeatureProcessor> Positions(Context& ctx) {
  auto positions = std::make_unique<PositionWeightedModuleCollection>(
      ctx, std::vector<std::pair<std::string, int64_t>>{{"a", 3}});
  std::vector<NamedParameter> parameters;
  positions->AppendParameters("", parameters);
  parameters[0].variable.value().CopyFrom(ctx, Tensor::From<float>(ctx, {2, -1, 0.5f}));
  return positions;
}

// Bags [first, first + count) of four examples.
KeyedJaggedTensor Batch(Context& ctx, int64_t first, int64_t count) {
  const std::vector<std::vector<int64_t>> a = {{1, 9, 1}, {}, {5, 1}, {9}},
                                          b = {{0}, {9, 3}, {3}, {2, 2}};
  std::vector<int64_t> ids, lengths;
  for (const auto* bags : {&a, &b})
    for (int64_t e = first; e < first + count; ++e) {
      const std::vector<int64_t>& bag = (*bags)[static_cast<size_t>(e)];
      lengths.push_back(static_cast<int64_t>(bag.size()));
      ids.insert(ids.end(), bag.begin(), bag.end());
    }
  return KeyedJaggedTensor::FromLengthsSync({"a", "b"}, Tensor::From(ctx, ids),
                                            Tensor::From(ctx, lengths));
}

class ShardedFeatureProcessedTest : public testing::DeviceTest {};

TEST_P(ShardedFeatureProcessedTest, EqualsOneRank) {
  Context one({.device = device(), .seed = 3});
  FeatureProcessedEmbeddingBagCollection whole(
      std::make_unique<EmbeddingBagCollection>(one, std::vector<EmbeddingBagConfig>{Config()},
                                               EmbeddingBagCollectionOptions{.is_weighted = true}),
      Positions(one));
  std::vector<NamedParameter> expected;
  whole.AppendParameters("", expected);
  {
    Tape tape(one);
    const Variable out = whole.Forward(one, Batch(one, 0, 4)).values();
    tape.Backward(Scale(one, Sum(one, Mul(one, out, out)), 0.5f));  // mean over two ranks of sums
  }
  const std::vector<float> rows =
      whole.embedding_bag_collection().tables().weight(0).ToVector<float>();
  const std::vector<float> gradient = expected[0].variable.grad().ToVector<float>();

  for (const TableSharder& sharder : {RowWise(), ColumnWise({0}), TableWise(1), DataParallel()})
    RunLocalRanks(2, [&](Communicator& comm) {
      Context own({.device = device(), .threads = 1, .seed = 3});
      const TableShape shape{"t", 10, 4};
      ShardedFeatureProcessedEmbeddingBagCollection module(
          std::make_unique<ShardedEmbeddingBagCollection>(
              own, comm, std::vector<EmbeddingBagConfig>{Config()},
              MakeShardingPlan({.world_size = 2, .local_size = 2}, {&shape, 1}, sharder),
              EmbeddingBagCollectionOptions{.is_weighted = true}),
          Positions(own));
      std::vector<NamedParameter> parameters;
      module.AppendParameters("", parameters);
      DistributedModelParallel parallel(own, comm, parameters);
      Tape tape(own);
      const Variable out = module.Forward(own, Batch(own, 2 * comm.rank(), 2)).values();
      tape.Backward(Sum(own, Mul(own, out, out)));
      parallel.AverageGradients(own);
      const std::vector<float> got = parameters[0].variable.grad().ToVector<float>();
      for (size_t i = 0; i < gradient.size(); ++i) EXPECT_NEAR(got[i], gradient[i], 1e-5);
      for (const HeldShard& held : module.embedding_bag_collection().tables().shards()) {
        const std::vector<float> part = held.tables->weight(held.index).ToVector<float>();
        for (size_t i = 0; i < part.size(); ++i)
          EXPECT_NEAR(part[i], rows[static_cast<size_t>(held.shard.row_offset) * 4 + i], 1e-5);
      }
    });
}

TEST_P(ShardedFeatureProcessedTest, NeedsAWeightedCollection) {
  RunLocalRanks(1, [&](Communicator& comm) {
    const TableShape shape{"t", 10, 4};
    EXPECT_THROW(ShardedFeatureProcessedEmbeddingBagCollection(
                     std::make_unique<ShardedEmbeddingBagCollection>(
                         ctx(), comm, std::vector<EmbeddingBagConfig>{Config()},
                         MakeShardingPlan({}, {&shape, 1}, TableWise(0))),
                     Positions(ctx())),
                 Error);
  });
}

TESSERA_INSTANTIATE_DEVICES(ShardedFeatureProcessedTest);

}  // namespace
}  // namespace tessera
