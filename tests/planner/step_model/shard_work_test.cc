#include "planner/step_model/shard_work.h"

#include <gtest/gtest.h>

#include "comm/local_communicator.h"
#include "sharding/plan/plan_makers.h"
#include "sharding/sharded_tables.h"
#include "tests/planner/testing/made_up_profile.h"

namespace tessera {
namespace {

constexpr int64_t kBags = 64, kIds = 512, kRows = 1000, kDim = 32;

StepLoad LoadOf(const std::string& codec) {
  StepLoad load;
  for (const char* name : {"a", "b", "c"}) {
    StepTable table{.name = name, .rows = kRows, .dim = kDim};
    table.features.push_back({kBags, kIds, UniformRows(kRows)});
    load.tables.push_back(table);
  }
  load.codecs = ParseWireCodecs(codec);
  return load;
}

std::vector<TableShape> Shapes() {
  return {{"a", kRows, kDim}, {"b", kRows, kDim}, {"c", kRows, kDim}};
}

// The bytes that each rank sends in a step, as `bytes_sent` counts them.
std::vector<double> BytesSent(const StepLoad& load, const ShardingPlan& plan) {
  std::vector<double> sent(static_cast<size_t>(plan.world_size));
  RunLocalRanks(plan.world_size, [&](Communicator& comm) {
    Context ctx({.threads = 1});
    std::vector<BaseEmbeddingConfig> configs;
    std::vector<EmbeddingFeature> features;
    std::vector<std::string> keys;
    for (const StepTable& t : load.tables) {
      BaseEmbeddingConfig c;
      c.name = t.name;
      c.num_embeddings = t.rows;
      c.embedding_dim = t.dim;
      features.push_back({t.name, static_cast<int>(configs.size()), t.name});
      keys.push_back(t.name);
      configs.push_back(c);
    }
    ShardedTables tables(ctx, comm, configs,
                         std::vector<PoolingType>(configs.size(), PoolingType::kSum), features,
                         plan, {.sharding = {.codecs = load.codecs}});
    std::vector<int64_t> ids, lengths;
    for (size_t i = 0; i < keys.size() * kIds; ++i)
      ids.push_back(static_cast<int64_t>(i * 7919 + 13 * static_cast<size_t>(comm.rank())) % kRows);
    lengths.assign(keys.size() * kBags, kIds / kBags);
    const auto kjt = KeyedJaggedTensor::FromLengthsSync(keys, Tensor::From(ctx, ids),
                                                        Tensor::From(ctx, lengths));
    const auto all_sent = [&] {
      const NodeExchange* nodes = tables.by_node();
      return comm.bytes_sent() + (nodes ? nodes->bytes_inside() + nodes->bytes_between() : 0);
    };
    const int64_t before = all_sent();
    Tape tape(ctx);
    const Variable out = tables.Forward(ctx, kjt)[0];
    tape.Backward(out, Tensor::Full(ctx, out.value().shape(), 1));
    sent[static_cast<size_t>(comm.rank())] = static_cast<double>(all_sent() - before);
  });
  return sent;
}

PlanWork WorkOf(const StepLoad& load, const ShardingPlan& plan) {
  const MachineProfile profile = testing::MadeUpProfile();
  const WorkingSet set(load, plan.world_size, 1);
  return WorkOfPlan({&profile, &set, &load, static_cast<double>(plan.world_size)}, plan);
}

class WireBytesTest : public ::testing::TestWithParam<std::string> {};

TEST_P(WireBytesTest, AreThoseThatRanksSend) {
  const StepLoad load = LoadOf(GetParam());
  const std::vector<std::map<std::string, TableSharder>> plans = {
      {{"a", TableWise(0)}, {"b", TableWise(3)}, {"c", TableWise(1)}},
      {{"a", RowWise()}, {"b", RowWise()}, {"c", RowWise()}},
      {{"a", ColumnWise({0, 2})}, {"b", TableWise(2)}, {"c", TableRowWise(1)}},
      {{"a", RowWise()}, {"b", DataParallel()}, {"c", DataParallel()}},
      {{"a", GridShard({0, 1}, 16)}, {"b", RowWise()}, {"c", TableWise(2)}},
  };
  for (size_t p = 0; p < plans.size(); ++p) {
    const ShardingPlan plan = MakeShardingPlan({4, 2}, Shapes(), plans[p]);
    const std::vector<double> sent = BytesSent(load, plan);
    const PlanWork work = WorkOf(load, plan);
    for (size_t r = 0; r < sent.size(); ++r) {
      const RankWork& rank = work.ranks[r];
      double predicted = rank.ids.sent + 3 * rank.gathered;
      for (const RouteBytes& bytes : {rank.rows, rank.gradients})
        predicted += bytes.direct.sent + bytes.inside.sent + bytes.between.sent;
      // The prediction has no counts and padding; ids of row blocks are as many as chance decides.
      EXPECT_NEAR(predicted, sent[r], 0.03 * sent[r] + 700) << "plan " << p << ", rank " << r;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, WireBytesTest, ::testing::Values("fp32", "fp16", "int8"));

TEST(PlanWork, SendsWhatItReceives) {
  const StepLoad load = LoadOf("fp16");
  const ShardingPlan plan = MakeShardingPlan(
      {4, 2}, Shapes(), {{"a", RowWise()}, {"b", DataParallel()}, {"c", ColumnWise({1, 2})}});
  WireBytes ids, rows, gradients;
  for (const RankWork& rank : WorkOf(load, plan).ranks) {
    ids += rank.ids;
    rows += rank.rows.direct;
    gradients += rank.gradients.direct;
  }
  EXPECT_NEAR(ids.sent, ids.received, 1e-6 * ids.sent);
  EXPECT_NEAR(rows.sent, rows.received, 1e-6 * rows.sent);
  EXPECT_NEAR(gradients.sent, gradients.received, 1e-6 * gradients.sent);
}

TEST(PlanWork, SplitsIdsOnceAndCopiesThemForOtherColumns) {
  const StepLoad load = LoadOf("fp32");
  const auto input = [&](const TableSharder& a) {
    return WorkOf(load, MakeShardingPlan({4, 2}, Shapes(),
                                         {{"a", a}, {"b", TableWise(0)}, {"c", TableWise(0)}}))
        .ranks[3]
        .input;
  };
  const InputCounts whole = input(TableWise(0)), grid = input(GridShard({0, 1}, 16));
  EXPECT_EQ(whole[kSplitIds], 0);
  EXPECT_EQ(grid[kSplitIds], kIds);
  EXPECT_EQ(grid[kSplitBags], 2 * kBags);
  // Rank 3 receives half of all ids for its half of the columns, and copies its own once more.
  EXPECT_EQ(grid[kMovedIds] - whole[kMovedIds], 4 * kIds / 2);
}

}  // namespace
}  // namespace tessera
