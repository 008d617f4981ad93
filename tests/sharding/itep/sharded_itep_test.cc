// Pruning over ranks against one process that has all ranks' batches.
#include <gtest/gtest.h>

#include <random>

#include "comm/local_communicator.h"
#include "embedding/itep/itep_embedding.h"
#include "sharding/itep/sharded_itep_embedding.h"
#include "sharding/plan/plan_makers.h"
#include "tests/embedding/small_tables.h"
#include "tests/testing/devices.h"

namespace tessera {
namespace {

constexpr int64_t kIds = 60, kRows = 9;

EmbeddingBagConfig Table(const std::string& name, const std::string& feature) {
  EmbeddingBagConfig config;
  static_cast<BaseEmbeddingConfig&>(config) =
      testing::Filled(testing::SmallTable(name, kRows, 4, RowwiseAdagrad{0.5f}), 1);
  config.feature_names = {feature};
  return config;
}

std::unique_ptr<GenericITEPModule> Module(Context& ctx,
                                          const std::vector<EmbeddingBagConfig>& configs) {
  return std::make_unique<GenericITEPModule>(
      ctx, std::vector<BaseEmbeddingConfig>(configs.begin(), configs.end()),
      ItepOptions{.table_name_to_unpruned_hash_sizes = {{"t", kIds}, {"s", kIds}},
                  .pruning_interval = 4});
}

// The bags of ranks [begin, end), one id each, four bags a rank: ids near a place that moves.
KeyedJaggedTensor Batch(Context& ctx, int64_t step, int64_t begin, int64_t end) {
  std::vector<int64_t> ids;
  for (const int64_t key : {0, 1})
    for (int64_t bag = 4 * begin; bag < 4 * end; ++bag) {
      std::mt19937 random(static_cast<unsigned>(step * 100 + bag * 2 + key));
      ids.push_back((step + static_cast<int64_t>(random() % 6 * (random() % 3))) % kIds);
    }
  const std::vector<int64_t> lengths(ids.size(), 1);
  return KeyedJaggedTensor::FromLengthsSync({"a", "b"}, Tensor::From(ctx, ids),
                                            Tensor::From(ctx, lengths));
}

template <typename Collection>
void Step(Context& ctx, Collection& collection, const KeyedJaggedTensor& kjt, double gradient) {
  Tape tape(ctx);
  const Variable out = collection.Forward(ctx, kjt).values();
  tape.Backward(out, Tensor::Full(ctx, out.shape(), gradient));
}

class ShardedItepTest : public testing::DeviceTest {};

TEST_P(ShardedItepTest, IsOneProcess) {
  for (const int ranks : {1, 2, 4})  // 1/R is exact
    RunLocalRanks(ranks, [&](Communicator& comm) {
      Context ctx({.device = device(), .threads = 1});
      const std::vector<EmbeddingBagConfig> configs = {Table("t", "a"), Table("s", "b")};
      ITEPEmbeddingBagCollection whole(std::make_unique<EmbeddingBagCollection>(ctx, configs),
                                       Module(ctx, configs));
      const std::vector<TableShape> shapes = {{"t", kRows, 4}, {"s", kRows, 4}};
      const ShardingPlan plan = MakeShardingPlan({.world_size = ranks, .local_size = ranks}, shapes,
                                                 {{"t", RowWise()}, {"s", TableWise(ranks - 1)}});
      ShardedITEPEmbeddingBagCollection sharded(
          std::make_unique<ShardedEmbeddingBagCollection>(ctx, comm, configs, plan),
          Module(ctx, configs));
      for (int64_t step = 0; step < (on_cpu() ? 45 : 12); ++step) {
        Step(ctx, whole, Batch(ctx, step, 0, ranks), 0.25 / ranks);
        Step(ctx, sharded, Batch(ctx, step, comm.rank(), comm.rank() + 1), 0.25);
      }
      const std::vector<NamedTensor> a = whole.StateDict(ctx), b = sharded.StateDict(ctx);
      ASSERT_EQ(a.size(), b.size());
      for (size_t i = 0; i < a.size(); ++i)
        EXPECT_TRUE(SameBits(a[i].tensor.ToHost(), b[i].tensor.ToHost())) << a[i].name;
      bool pruned = false;
      for (int64_t id = 0; id < kIds; ++id)
        pruned |= a[0].tensor.ToVector<int64_t>()[static_cast<size_t>(id)] != (id < kRows ? id : 0);
      EXPECT_TRUE(pruned);
      for (const HeldShard& held : sharded.collection().tables().shards()) {
        const Tensor rows = whole.collection().tables().weight(held.table == "t" ? 0 : 1);
        const int64_t first = held.shard.row_offset;
        EXPECT_TRUE(SameBits(held.tables->weight(held.index).ToHost(),
                             rows.Rows(first, first + held.shard.rows).ToHost()))
            << held.table;
      }
      comm.Barrier(ctx, "end of the test").Wait();
    });
}

TESSERA_INSTANTIATE_DEVICES(ShardedItepTest);

}  // namespace
}  // namespace tessera
