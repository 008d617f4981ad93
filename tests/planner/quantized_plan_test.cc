// Quantized tables by a plan that nobody wrote: quantize, plan, shard, serve.
#include "planner/quantized_plan.h"

#include <gtest/gtest.h>

#include <numeric>

#include "embedding/embedding_bag_collection.h"
#include "embedding/quantized/quantize_tables.h"
#include "planner/model/planner_error.h"
#include "runtime/tensor.h"
#include "sharding/quantized/sharded_quant_embedding_bag_collection.h"

namespace tessera {
namespace {

constexpr int kRanks = 2;
constexpr int64_t kRows[] = {4000, 1000, 900}, kDim = 16;

quant::EmbeddingBagCollection Quantized(Context& ctx) {
  std::vector<EmbeddingBagConfig> tables;
  for (const int64_t rows : kRows) {
    EmbeddingBagConfig table;
    table.name = "t" + std::to_string(rows);
    table.num_embeddings = rows;
    table.embedding_dim = kDim;
    table.feature_names = {"f" + std::to_string(rows)};
    tables.push_back(table);
  }
  return quant::Quantize(ctx, EmbeddingBagCollection(ctx, tables));
}

TopologyFile Machine(int64_t bytes) {
  TopologyFile machine;
  machine.topology.compute_device = ComputeDevice::kCpu;
  machine.topology.world_size = machine.topology.local_world_size = kRanks;
  machine.topology.ddr_cap = bytes;
  return machine;
}

KeyedJaggedTensor Batch(Context& ctx) {
  std::vector<std::string> keys;
  std::vector<int64_t> ids, lengths;
  for (const int64_t rows : kRows) {
    keys.push_back("f" + std::to_string(rows));
    for (int64_t bag = 0; bag < 8; ++bag) {
      lengths.push_back(1);
      ids.push_back((bag * 977 + 13) % rows);
    }
  }
  return KeyedJaggedTensor::FromLengthsSync(keys, Tensor::From(ctx, ids),
                                            Tensor::From(ctx, lengths));
}

TEST(QuantizedPlanTest, IsServedWithTheSameBits) {
  Context ctx({.threads = 1, .seed = 4});
  const quant::EmbeddingBagCollection model = Quantized(ctx);
  PlanResult result;
  const ShardingPlan plan =
      FindQuantizedPlan(model.tables().tables(), Machine(int64_t{1} << 30), {}, &result);
  EXPECT_EQ(plan.world_size, kRanks);
  EXPECT_EQ(result.tables.size(), std::size(kRows));
  const quant::ShardedQuantEmbeddingBagCollection sharded(ctx, model, plan);
  EXPECT_TRUE(
      SameBits(sharded.Forward(ctx, Batch(ctx)).values(), model.Forward(ctx, Batch(ctx)).values()));
}

// The large table has more bytes than a rank has room for; of one-id bags sums are rows, so the
// bits stay.
TEST(QuantizedPlanTest, ATableThatFitsNoRankIsCutByRows) {
  Context ctx({.threads = 1, .seed = 4});
  const quant::EmbeddingBagCollection model = Quantized(ctx);
  const int64_t bytes = model.tables().tables()[0].rows.nbytes();
  const QuantizedPlanOptions options{.batch_size = 8};
  // TorchRec's default reservation keeps 15 % and what the batch takes.
  const ShardingPlan plan =
      FindQuantizedPlan(model.tables().tables(), Machine(bytes * 23 / 20), options);
  const TableSharding& large = plan.tables.at("t4000");
  EXPECT_EQ(large.type, ShardingType::kRowWise);
  for (const Shard& shard : large.shards) EXPECT_EQ(shard.columns, kDim);
  const quant::ShardedQuantEmbeddingBagCollection sharded(ctx, model, plan);
  EXPECT_TRUE(
      SameBits(sharded.Forward(ctx, Batch(ctx)).values(), model.Forward(ctx, Batch(ctx)).values()));
  int64_t held = 0;
  for (int r = 0; r < kRanks; ++r) held += sharded.tables().nbytes(r);
  EXPECT_GE(held, bytes);
  EXPECT_THROW(FindQuantizedPlan(model.tables().tables(), Machine(bytes / 2), options),
               PlannerError);
}

}  // namespace
}  // namespace tessera
