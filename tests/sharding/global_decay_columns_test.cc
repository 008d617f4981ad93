// Lookups are told once what rows of GlobalDecayRowwiseAdagrad owe, however many blocks of their
// columns lie on one rank.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <mutex>

#include "comm/local_communicator.h"
#include "runtime/ops/arithmetic.h"
#include "sharding/sharded_embedding_bag_collection.h"
#include "tests/testing/devices.h"

namespace tessera {
namespace {

constexpr int64_t kRows = 5, kDim = 12, kBags = 3;

EmbeddingBagConfig Table(PoolingType pooling) {
  EmbeddingBagConfig table;
  table.name = "t";
  table.num_embeddings = kRows;
  table.embedding_dim = kDim;
  table.feature_names = {"a", "b"};
  table.pooling = pooling;
  table.init_range = {0.5f, 1.0f};
  table.optimizer = GlobalDecayRowwiseAdagrad{.lr = 0.25f, .weight_decay = 0.5f};
  return table;
}

// Blocks of 4 columns on these nodes, of one rank each; with `halves`, of two, each with a half of
// the rows.
ShardingPlan PlanOf(int nodes, std::array<int, 3> node_of, bool halves) {
  TableSharding sharding;
  sharding.type = halves ? ShardingType::kGridShard : ShardingType::kColumnWise;
  const int local = halves ? 2 : 1;
  for (int64_t block = 0; block < 3; ++block) {
    const int rank = local * node_of[static_cast<size_t>(block)];
    sharding.shards.push_back({rank, 0, 4 * block, halves ? 3 : kRows, 4});
    if (halves) sharding.shards.push_back({rank + 1, 3, 4 * block, kRows - 3, 4});
  }
  ShardingPlan plan{.world_size = nodes * local, .local_size = local, .tables = {}};
  plan.tables["t"] = sharding;
  return plan;
}

// Step s: some rows are left out of most steps, and owe their decay when they come again.
KeyedJaggedTensor Batch(Context& ctx, int64_t step, bool with_bags) {
  std::vector<int64_t> ids, lengths;
  std::vector<float> weights;
  for (int64_t bag = 0; with_bags && bag < 2 * kBags; ++bag) {
    lengths.push_back(1 + bag % 2);
    for (int64_t i = 0; i < lengths.back(); ++i) {
      ids.push_back((step * step + bag + 2 * i) % (step % 3 == 2 ? kRows : 2));
      weights.push_back(static_cast<float>(1 + ids.size() % 3));
    }
  }
  return KeyedJaggedTensor::FromLengthsSync({"a", "b"}, Tensor::From(ctx, ids),
                                            Tensor::From(ctx, lengths), Tensor::From(ctx, weights));
}

using Values = std::map<std::string, std::vector<float>>;

// The outputs of rank 0, which has all bags, and the rows of the ranks afterwards, by place in the
// table.
Values ValuesOf(Device device, PoolingType pooling, bool weighted, const ShardingPlan& plan) {
  Values values;
  std::mutex mutex;
  RunLocalRanks(plan.world_size, [&](Communicator& comm) {
    Context ctx({.device = device, .threads = 1, .seed = 3});
    ShardedEmbeddingBagCollection collection(
        ctx, comm, {Table(pooling)}, plan, {.is_weighted = weighted}, {.gradient_division = false});
    for (int64_t step = 0; step < 9; ++step) {
      Tape tape(ctx);
      const Variable out = collection.Forward(ctx, Batch(ctx, step, comm.rank() == 0)).values();
      if (comm.rank() == 0) values[Format("step {}", step)] = out.value().ToVector<float>();
      tape.Backward(Sum(ctx, Mul(ctx, out, out)));
    }
    const std::lock_guard lock(mutex);
    for (const HeldShard& held : collection.tables().shards()) {
      const std::string place =
          Format("rows from {}, columns from {}", held.shard.row_offset, held.shard.column_offset);
      values[place] = held.tables->weight(held.index).ToVector<float>();
      for (const OptimizerState& s : held.tables->optimizer_states(held.index))
        values[place + " " + s.name] = s.tensor.To(ctx, DType::kF32).ToVector<float>();
    }
  });
  return values;
}

class GlobalDecayColumnsTest : public testing::DeviceTest {};

TEST_P(GlobalDecayColumnsTest, BlocksOfOneRankAreAsOnRanksOfTheirOwn) {
  for (const PoolingType pooling : {PoolingType::kSum, PoolingType::kMean})
    for (const bool weighted : {false, true})
      for (const bool halves : {false, true}) {
        const Values apart = ValuesOf(device(), pooling, weighted, PlanOf(3, {0, 1, 2}, halves));
        EXPECT_EQ(ValuesOf(device(), pooling, weighted, PlanOf(1, {0, 0, 0}, halves)), apart);
        EXPECT_EQ(ValuesOf(device(), pooling, weighted, PlanOf(2, {0, 1, 0}, halves)), apart);
      }
}

TEST_P(GlobalDecayColumnsTest, TablesOfTheirOwnNeedKeysOfTheirOwn) {
  EmbeddingBagConfig other = Table(PoolingType::kSum);
  other.name = "u";
  try {
    EmbeddingBagCollection(ctx(), {Table(PoolingType::kSum), other});
    FAIL() << "expected an error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(),
                ::testing::HasSubstr("feature a@t of table t: global_decay_rowwise_adagrad reads "
                                     "its key a alone, but feature a@u of table u reads it, too"));
  }
}

TESSERA_INSTANTIATE_DEVICES(GlobalDecayColumnsTest);

}  // namespace
}  // namespace tessera
