// Bytes that travel between nodes where rows return by node, and which plans choose it.
// (sharded_tables_test compares the bits of both routes over every type of sharding.)
#include "sharding/exchange/node_exchange.h"

#include <gtest/gtest.h>

#include "comm/local_communicator.h"
#include "comm/slow_communicator.h"
#include "sharding/plan/plan_makers.h"
#include "sharding/sharded_tables.h"

namespace tessera {
namespace {

constexpr int64_t kRows = 64, kDim = 32, kExamples = 8;

struct Nodes {
  int nodes = 2, local = 2;
  int world() const { return nodes * local; }
};

std::vector<BaseEmbeddingConfig> TwoTables() {
  std::vector<BaseEmbeddingConfig> tables(2);
  for (size_t t = 0; t < tables.size(); ++t) {
    tables[t].name = Format("t{}", t);
    tables[t].num_embeddings = kRows;
    tables[t].embedding_dim = kDim;
    tables[t].feature_names = {Format("f{}", t)};
    tables[t].optimizer = Sgd{.lr = 0.1f};
  }
  return tables;
}

ShardingPlan PlanOf(const Nodes& nodes, const TableSharder& first, const TableSharder& second) {
  const std::vector<BaseEmbeddingConfig> tables = TwoTables();
  return MakeShardingPlan({.world_size = nodes.world(), .local_size = nodes.local},
                          ShapesOf(tables), {{tables[0].name, first}, {tables[1].name, second}});
}

// Each example has ids of rows on every rank.
KeyedJaggedTensor BatchOf(Context& ctx) {
  std::vector<int64_t> ids, lengths;
  for (int64_t bag = 0; bag < 2 * kExamples; ++bag) {
    lengths.push_back(8);
    for (int64_t i = 0; i < 8; ++i) ids.push_back((i * 8 + bag) % kRows);
  }
  return KeyedJaggedTensor::FromLengthsSync({"f0", "f1"}, Tensor::From(ctx, ids),
                                            Tensor::From(ctx, lengths));
}

struct Sent {
  int64_t between = 0, inside = 0;  // bytes of rows and gradients of one step, of all ranks
  bool by_node = false;
  std::vector<float> rows;  // of rank 0
};

Sent SentIn(const Nodes& nodes, const ShardingPlan& plan, ShardingOptions options) {
  LinkTraffic traffic;
  Sent sent;
  RunLocalRanks(nodes.world(), [&](Communicator& local) {
    const auto comm = MakeSlowCommunicator(
        local.Split(0, local.rank()), SlowNodes{.local_size = nodes.local, .traffic = &traffic});
    Context ctx({.threads = 1, .seed = 3});
    ShardedTables tables(ctx, *comm, TwoTables(), {PoolingType::kSum, PoolingType::kSum},
                         {{"f0", 0, "f0"}, {"f1", 1, "f1"}}, plan, {.sharding = options});
    Tape tape(ctx);
    const KeyedJaggedTensor kjt = BatchOf(ctx);
    const InputDist input = tables.StartInputDist(ctx, kjt).Wait();
    local.Barrier(ctx, "ids are there").Wait();
    const int64_t between = traffic.between, inside = traffic.inside;
    local.Barrier(ctx, "bytes of ids are known").Wait();
    const Variable out = tables.StartOutputDist(ctx, kjt, input).Wait()[0];
    tape.Backward(out, Tensor::Full(ctx, out.shape(), 1));
    local.Barrier(ctx, "gradients are there").Wait();
    if (!IsLeader(local)) return;
    sent = {traffic.between - between, traffic.inside - inside, tables.by_node() != nullptr,
            out.value().ToVector<float>()};
  });
  return sent;
}

TEST(NodeExchange, BytesBetweenNodesAreThoseOfOneRank) {
  for (const Nodes nodes : {Nodes{2, 2}, Nodes{2, 4}, Nodes{3, 2}}) {
    const ShardingPlan plans[] = {
        PlanOf(nodes, TableRowWise(0), TableRowWise(1)),
        PlanOf(nodes, GridShard({0, 1}, 16), GridShard({1, 0}, 16)),
    };
    for (const ShardingPlan& plan : plans) {
      SCOPED_TRACE(ToString(plan));
      const Sent direct = SentIn(nodes, plan, {.route = OutputRoute::kDirect});
      const Sent by_node = SentIn(nodes, plan, {.route = OutputRoute::kByNode});
      const Sent chosen = SentIn(nodes, plan, {});
      EXPECT_FALSE(direct.by_node);
      EXPECT_TRUE(by_node.by_node);
      EXPECT_TRUE(chosen.by_node);
      EXPECT_GT(by_node.between, 0);
      EXPECT_EQ(direct.between, nodes.local * by_node.between);
      EXPECT_EQ(chosen.between, by_node.between);
      EXPECT_EQ(by_node.rows, direct.rows);
    }
  }
}

TEST(NodeExchange, NothingIsSavedWhereNoRowsMeetInANode) {
  const Nodes nodes;
  for (const ShardingPlan& plan :
       {PlanOf(nodes, TableWise(1), TableWise(2)), PlanOf(nodes, RowWise(), ColumnWise({0, 3}))}) {
    SCOPED_TRACE(ToString(plan));
    EXPECT_FALSE(SentIn(nodes, plan, {}).by_node);
    const Sent direct = SentIn(nodes, plan, {.route = OutputRoute::kDirect});
    const Sent by_node = SentIn(nodes, plan, {.route = OutputRoute::kByNode});
    EXPECT_EQ(by_node.between, direct.between);
    EXPECT_EQ(by_node.rows, direct.rows);
  }
}

TEST(NodeExchange, CodecsAreForWhatGoesFromNodeToNode) {
  const Nodes nodes;
  const ShardingPlan plan = PlanOf(nodes, TableRowWise(0), TableRowWise(1));
  const Sent plain = SentIn(nodes, plan, {.route = OutputRoute::kByNode});
  const Sent coded =
      SentIn(nodes, plan, {.codecs = ParseWireCodecs("bf16"), .route = OutputRoute::kByNode});
  EXPECT_EQ(plain.between, 2 * coded.between);
  EXPECT_EQ(plain.inside, coded.inside);
  ASSERT_EQ(plain.rows.size(), coded.rows.size());
  for (size_t i = 0; i < plain.rows.size(); ++i)
    EXPECT_NEAR(coded.rows[i], plain.rows[i], std::abs(plain.rows[i]) / 128);
}

TEST(NodeExchange, OneNodeAndNodesOfOneRankReturnDirectly) {
  for (const Nodes nodes : {Nodes{1, 4}, Nodes{4, 1}}) {
    const ShardingPlan plan = PlanOf(nodes, TableRowWise(0), TableRowWise(0));
    EXPECT_FALSE(SentIn(nodes, plan, {.route = OutputRoute::kByNode}).by_node);
  }
}

}  // namespace
}  // namespace tessera
