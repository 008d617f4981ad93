// Ids that travel once a node: the bytes between nodes, the bits of rows and updates, and the order
// of sums. (sharded_tables_test compares bits over every type of sharding, tests/crossings beside
// every other feature.)
#include "sharding/exchange/node/node_dedup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

#include "comm/local_communicator.h"
#include "comm/slow_communicator.h"
#include "sharding/plan/plan_makers.h"
#include "sharding/sharded_tables.h"
#include "tests/testing/devices.h"

namespace tessera {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kRows = 600, kDim = 16;

struct Nodes {
  int nodes = 2, local = 2;
  int world() const { return nodes * local; }
};

std::vector<BaseEmbeddingConfig> Tables() {
  std::vector<BaseEmbeddingConfig> tables(2);
  for (size_t t = 0; t < tables.size(); ++t) {
    tables[t].name = Format("t{}", t);
    tables[t].num_embeddings = kRows;
    tables[t].embedding_dim = kDim;
    tables[t].optimizer = Sgd{.lr = 0.5f};
  }
  tables[0].feature_names = {"a", "b"};
  tables[1].feature_names = {"c"};
  return tables;
}
std::vector<EmbeddingFeature> Features() { return {{"a", 0, "a"}, {"b", 0, "b"}, {"c", 1, "c"}}; }

ShardingPlan PlanOf(const Nodes& nodes, const TableSharder& first, const TableSharder& second) {
  const std::vector<BaseEmbeddingConfig> tables = Tables();
  return MakeShardingPlan({.world_size = nodes.world(), .local_size = nodes.local},
                          ShapesOf(tables), {{"t0", first}, {"t1", second}});
}

KeyedJaggedTensor KjtOf(Context& ctx, const std::vector<std::vector<int64_t>>& of_features) {
  std::vector<int64_t> ids, lengths;
  for (const std::vector<int64_t>& of_feature : of_features) {
    lengths.push_back(static_cast<int64_t>(of_feature.size()));
    ids.insert(ids.end(), of_feature.begin(), of_feature.end());
  }
  return KeyedJaggedTensor::FromLengthsSync({"a", "b", "c"}, Tensor::From(ctx, ids),
                                            Tensor::From(ctx, lengths));
}

using BatchOfRank = std::function<std::vector<std::vector<int64_t>>(int rank)>;

// Few rows have most of the ids.
std::vector<std::vector<int64_t>> Skewed(int rank) {
  std::mt19937 random(static_cast<unsigned>(rank) + 1);
  std::vector<std::vector<int64_t>> ids(3);
  for (auto& of_feature : ids)
    for (int i = 0; i < 300; ++i) {
      const double u = static_cast<double>(random() % 10000) / 10000;
      of_feature.push_back(static_cast<int64_t>(std::pow(u, 4) * kRows));
    }
  return ids;
}

struct Sent {
  // Bytes of one step, of all ranks: of ids, and of rows and their gradients.
  int64_t ids_between = 0, ids_inside = 0, rows_between = 0, rows_inside = 0;
  bool in_nodes = false;
  std::vector<std::vector<float>> rows, weights;  // of all ranks
};

// Returns the bytes that all ranks have sent so far, between nodes and inside. Every rank calls.
std::pair<int64_t, int64_t> Now(Context& ctx, Communicator& comm, const LinkTraffic& traffic) {
  comm.Barrier(ctx, "all is sent").Wait();
  const std::pair<int64_t, int64_t> now(traffic.between, traffic.inside);
  comm.Barrier(ctx, "all is read").Wait();
  return now;
}

class NodeDedupTest : public testing::DeviceTest {
 protected:
  // One step, with gradients that are multiples of 1/8.
  Sent Train(const Nodes& nodes, const ShardingPlan& plan, const BatchOfRank& batch,
             const ShardingOptions& options) {
    LinkTraffic traffic;
    Sent sent;
    sent.rows.resize(static_cast<size_t>(nodes.world()));
    sent.weights.resize(static_cast<size_t>(nodes.world()));
    RunLocalRanks(nodes.world(), [&](Communicator& local) {
      const auto comm = MakeSlowCommunicator(
          local.Split(0, local.rank()), SlowNodes{.local_size = nodes.local, .traffic = &traffic});
      const auto rank = static_cast<size_t>(local.rank());
      Context ctx({.device = device(), .threads = 1, .seed = 3});
      ShardedTables tables(ctx, *comm, Tables(), {PoolingType::kNone, PoolingType::kNone},
                           Features(), plan, {.sharding = options});
      const KeyedJaggedTensor kjt = KjtOf(ctx, batch(local.rank()));
      const auto start = Now(ctx, local, traffic);
      const InputDist input = tables.StartInputDist(ctx, kjt).Wait();
      const auto there = Now(ctx, local, traffic);
      Backward(ctx, tables, kjt, input, sent.rows[rank]);
      const auto end = Now(ctx, local, traffic);
      for (const HeldShard& held : tables.shards())
        for (const float w : held.tables->weight(held.index).ToVector<float>())
          sent.weights[rank].push_back(w);
      if (!IsLeader(local)) return;
      sent.in_nodes = tables.dedups_in_nodes();
      sent.ids_between = there.first - start.first;
      sent.ids_inside = there.second - start.second;
      sent.rows_between = end.first - there.first;
      sent.rows_inside = end.second - there.second;
    });
    return sent;
  }

  static void Backward(Context& ctx, ShardedTables& tables, const KeyedJaggedTensor& kjt,
                       const InputDist& input, std::vector<float>& rows) {
    Tape tape(ctx);
    const std::vector<Variable> outputs = tables.StartOutputDist(ctx, kjt, input).Wait();
    std::vector<Tensor> grads;
    for (const Variable& v : outputs) {
      std::vector<float> grad(static_cast<size_t>(v.value().numel()));
      for (size_t e = 0; e < grad.size(); ++e)
        grad[e] = static_cast<float>((e * 5 + static_cast<size_t>(tables.comm().rank())) % 13) / 8;
      grads.push_back(Tensor::From(ctx, v.shape(), grad));
      for (const float x : v.value().ToVector<float>()) rows.push_back(x);
    }
    tape.Backward(outputs, grads);
    ctx.Sync();
  }

  void ExpectSameStep(const Sent& a, const Sent& b) {
    EXPECT_EQ(a.rows, b.rows);
    EXPECT_EQ(a.weights, b.weights);
  }
};

TEST_P(NodeDedupTest, FewerBytesTravelBetweenNodes) {
  for (const Nodes nodes : {Nodes{2, 2}, Nodes{2, 4}, Nodes{3, 2}}) {
    const int last = nodes.world() - 1;
    const ShardingPlan plans[] = {
        PlanOf(nodes, RowWise(), RowWise()),
        PlanOf(nodes, TableRowWise(0), TableRowWise(1)),
        PlanOf(nodes, TableWise(last), TableWise(last)),  // ranks of one place have all rows
        PlanOf(nodes, ColumnWise({0, last}), GridShard({1, 0}, 8)),
        PlanOf(nodes, TableWise(1), DataParallel()),
    };
    for (const ShardingPlan& plan : plans) {
      SCOPED_TRACE(ToString(plan));
      const Sent each = Train(nodes, plan, Skewed, {});
      const Sent rank = Train(nodes, plan, Skewed, {.dedup_ids = IdDedup::kRank});
      const Sent node = Train(nodes, plan, Skewed, {.dedup_ids = IdDedup::kNode});
      EXPECT_TRUE(node.in_nodes);
      EXPECT_FALSE(rank.in_nodes);
      ExpectSameStep(node, rank);
      ExpectSameStep(node, each);
      EXPECT_GT(node.ids_between, 0);
      EXPECT_LT(node.ids_between, rank.ids_between);
      EXPECT_LT(rank.ids_between, each.ids_between);
      EXPECT_LT(node.rows_between, rank.rows_between);
      EXPECT_LT(rank.rows_between, each.rows_between);
    }
  }
}

// Ranks with the same ids send what one of them would; ranks without a common id send what they did
// before.
TEST_P(NodeDedupTest, BytesAreThoseOfTheDistinctIdsOfANode) {
  const Nodes nodes{2, 4};
  const ShardingPlan plan = PlanOf(nodes, TableRowWise(0), TableRowWise(1));
  const BatchOfRank same = [](int) { return Skewed(0); };
  const BatchOfRank other = [&](int rank) {
    std::vector<std::vector<int64_t>> ids(3);
    for (auto& of_feature : ids)
      for (int64_t id = rank; id < kRows; id += nodes.world()) of_feature.push_back(id);
    return ids;
  };
  const Sent same_rank = Train(nodes, plan, same, {.dedup_ids = IdDedup::kRank});
  const Sent same_node = Train(nodes, plan, same, {.dedup_ids = IdDedup::kNode});
  EXPECT_EQ(same_rank.rows_between, nodes.local * same_node.rows_between);
  const Sent other_rank = Train(nodes, plan, other, {.dedup_ids = IdDedup::kRank});
  const Sent other_node = Train(nodes, plan, other, {.dedup_ids = IdDedup::kNode});
  EXPECT_EQ(other_rank.rows_between, other_node.rows_between);
  EXPECT_LE(other_node.ids_between, other_rank.ids_between);
  ExpectSameStep(other_node, other_rank);
}

TEST_P(NodeDedupTest, CodecsAreForWhatGoesFromNodeToNode) {
  const Nodes nodes;
  const ShardingPlan plan = PlanOf(nodes, RowWise(), RowWise());
  const Sent plain = Train(nodes, plan, Skewed, {.dedup_ids = IdDedup::kNode});
  const Sent coded =
      Train(nodes, plan, Skewed, {.codecs = ParseWireCodecs("bf16"), .dedup_ids = IdDedup::kNode});
  const Sent of_rank =
      Train(nodes, plan, Skewed, {.codecs = ParseWireCodecs("bf16"), .dedup_ids = IdDedup::kRank});
  EXPECT_NEAR(static_cast<double>(plain.rows_between), 2 * static_cast<double>(coded.rows_between),
              64);
  EXPECT_EQ(plain.rows_inside, coded.rows_inside);
  EXPECT_EQ(coded.rows, of_rank.rows);
  EXPECT_NE(coded.rows, plain.rows);
}

// A row of which ranks 0 to 3 have the gradients 1, e, e and e, where 1 + e rounds to 1.
TEST_P(NodeDedupTest, GradientsAreSummedInTheNodeFirst) {
  const float e = std::ldexp(1.0f, -24);
  const auto row_after = [&](IdDedup dedup) {
    float row = 0;
    const Nodes nodes;
    BaseEmbeddingConfig table = Tables()[0];
    table.feature_names = {"a"};
    table.optimizer = Sgd{.lr = 1};
    table.init_range = {0, 0};
    RunLocalRanks(nodes.world(), [&](Communicator& comm) {
      Context ctx({.device = device(), .threads = 1});
      ShardedTables tables(
          ctx, comm, {table}, {PoolingType::kNone}, {{"a", 0, "a"}},
          MakeShardingPlan({.world_size = nodes.world(), .local_size = nodes.local},
                           ShapesOf(std::vector{table}), TableWise(3)),
          {.sharding = {.gradient_division = false, .dedup_ids = dedup}});
      const KeyedJaggedTensor kjt =
          KeyedJaggedTensor::FromLengthsSync({"a"}, Tensor::From(ctx, std::vector<int64_t>{5}),
                                             Tensor::From(ctx, std::vector<int64_t>{1}));
      Tape tape(ctx);
      const Variable out = tables.Forward(ctx, kjt)[0];
      tape.Backward(out, Tensor::Full(ctx, out.shape(), comm.rank() == 0 ? 1 : e));
      if (comm.rank() == 3) row = tables.shards()[0].tables->weight(0).ToVector<float>()[5 * kDim];
    });
    return row;
  };
  EXPECT_EQ(row_after(IdDedup::kRank), -1);              // ((1 + e) + e) + e
  EXPECT_EQ(row_after(IdDedup::kNode), -(1 + (e + e)));  // (1 + e) + (e + e)
}

TEST_P(NodeDedupTest, OneNodeAndNodesOfOneRankAreAsRanks) {
  for (const Nodes nodes : {Nodes{1, 4}, Nodes{4, 1}}) {
    const ShardingPlan plan = PlanOf(nodes, RowWise(), TableWise(2));
    const Sent rank = Train(nodes, plan, Skewed, {.dedup_ids = IdDedup::kRank});
    const Sent node = Train(nodes, plan, Skewed, {.dedup_ids = IdDedup::kNode});
    EXPECT_FALSE(node.in_nodes);
    EXPECT_EQ(node.rows_between, rank.rows_between);
    EXPECT_EQ(node.rows_inside, rank.rows_inside);
    ExpectSameStep(node, rank);
  }
}

// Some ranks, and all ranks of a node, may have no ids.
TEST_P(NodeDedupTest, RanksWithoutIds) {
  const Nodes nodes;
  for (const std::vector<int>& empty : {std::vector<int>{1}, {2, 3}, {0, 1, 2, 3}}) {
    const BatchOfRank batch = [&](int rank) {
      const bool none = std::find(empty.begin(), empty.end(), rank) != empty.end();
      return none ? std::vector<std::vector<int64_t>>(3) : Skewed(rank);
    };
    const ShardingPlan plan = PlanOf(nodes, RowWise(), TableWise(2));
    const Sent node = Train(nodes, plan, batch, {.dedup_ids = IdDedup::kNode});
    ExpectSameStep(node, Train(nodes, plan, batch, {}));
  }
}

TEST_P(NodeDedupTest, WhatCannotBeIsSaid) {
  const Nodes nodes;
  const auto error = [&](PoolingType pooling, OutputRoute route) -> std::string {
    try {
      RunLocalRanks(nodes.world(), [&](Communicator& comm) {
        Context ctx({.device = device(), .threads = 1});
        ShardedTables(ctx, comm, Tables(), {pooling, pooling}, Features(),
                      PlanOf(nodes, RowWise(), RowWise()),
                      {.sharding = {.dedup_ids = IdDedup::kNode, .route = route}});
      });
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(error(PoolingType::kSum, OutputRoute::kAuto),
              HasSubstr("dedup_ids is for sequences; the tables are pooled"));
  EXPECT_THAT(error(PoolingType::kNone, OutputRoute::kDirect),
              HasSubstr("dedup_ids = node beside route = direct"));
  EXPECT_EQ(error(PoolingType::kNone, OutputRoute::kByNode), "");
  EXPECT_EQ(ParseIdDedup("node"), IdDedup::kNode);
  EXPECT_EQ(ToString(IdDedup::kRank), "rank");
  EXPECT_THROW(ParseIdDedup("rack"), Error);
}

TESSERA_INSTANTIATE_DEVICES(NodeDedupTest);

}  // namespace
}  // namespace tessera
