// Training steps of sharded tables in which hosts hardly wait for their devices: the emulator
// counts the waits of all ranks.
#include <gtest/gtest.h>

#include "comm/local_communicator.h"
#include "runtime/ops/arithmetic.h"
#include "sharding/plan/plan_makers.h"
#include "sharding/sharded_tables.h"
#include "tools/emulation/emulation.h"

namespace tessera {
namespace {

constexpr int kRanks = 2, kSteps = 3;
constexpr int64_t kRows = 64, kDim = 8, kBags = 6;

BaseEmbeddingConfig Table(const std::string& name) {
  BaseEmbeddingConfig c;
  c.name = name;
  c.num_embeddings = kRows;
  c.embedding_dim = kDim;
  c.optimizer = RowwiseAdagrad{};
  return c;
}

struct Case {
  TableSharder sharder;
  PoolingType pooling = PoolingType::kMean;
  bool weighted = false;
  IdDedup dedup = IdDedup::kNone;
  RankLayout layout = {kRanks, kRanks};
  DType output = DType::kF32;
};

// Made on the host, and moved.
KeyedJaggedTensor Batch(Context& ctx, const Case& c, int step) {
  Context cpu;
  std::vector<int64_t> ids, lengths;
  for (int64_t bag = 0; bag < 2 * kBags; ++bag) {
    lengths.push_back((bag + step) % 4);
    for (int64_t i = 0; i < lengths.back(); ++i) ids.push_back((7 * bag + 3 * i + step) % kRows);
  }
  Variable weights;
  if (c.weighted) weights = Variable(Tensor::Full(cpu, {std::ssize(ids)}, 0.5));
  return KeyedJaggedTensor::FromLengthsSync({"a", "b"}, Tensor::From(cpu, ids),
                                            Tensor::From(cpu, lengths), weights)
      .To(ctx, Device::Cuda());
}

void Step(Context& ctx, ShardedTables& tables, const KeyedJaggedTensor& batch) {
  Tape tape(ctx);
  const std::vector<Variable> outputs = tables.Forward(ctx, batch);
  if (outputs.size() == 1) {
    const Tensor& out = outputs[0].value();
    return tape.Backward(outputs[0], Tensor::Full(ctx, out.shape(), 1, out.dtype()));
  }
  Variable loss = Sum(ctx, outputs[0]);
  for (size_t o = 1; o < outputs.size(); ++o) loss = Add(ctx, loss, Sum(ctx, outputs[o]));
  tape.Backward(loss);
}

// Waits of all ranks in all steps. A copy to the host's memory counts as two.
int64_t Waits(const Case& c) {
  int64_t waits = 0;
  RunLocalRanks(c.layout.world_size, [&](Communicator& comm) {
    Context ctx({.device = Device::Cuda()});
    const std::vector<TableShape> shapes = {{"t", kRows, kDim}, {"u", kRows, kDim}};
    ShardedTables tables(ctx, comm, {Table("t"), Table("u")}, {c.pooling, c.pooling},
                         {{"a", 0, "a"}, {"b", 1, "b"}},
                         MakeShardingPlan(c.layout, shapes, c.sharder),
                         {.weighted = c.weighted,
                          .bounds_check = BoundsCheckMode::kWarning,
                          .output_type = c.output,
                          .sharding = {.dedup_ids = c.dedup}});
    std::vector<KeyedJaggedTensor> batches;
    for (int step = 0; step < kSteps; ++step) batches.push_back(Batch(ctx, c, step));
    const auto count = [&] {  // nobody goes on before all have counted
      comm.GatherStringsSync("", "test");
      const int64_t syncs = cuda_emulation::Stats().syncs;
      comm.GatherStringsSync("", "test");
      return syncs;
    };
    const int64_t before = count();
    for (const KeyedJaggedTensor& batch : batches) Step(ctx, tables, batch);
    const int64_t after = count();
    if (IsLeader(comm)) waits = after - before;
  });
  return waits;
}

constexpr int64_t kOneReadOfEach = 2 * kRanks * kSteps;

TEST(ShardedHostWaitsTest, NoneWhereTablesAreWhole) {
  for (const TableSharder& sharder :
       {TableSharder(TableWise(1)), TableSharder(ColumnWise({0, 1})), TableSharder(DataParallel())})
    for (const PoolingType pooling : {PoolingType::kSum, PoolingType::kMean, PoolingType::kNone})
      for (const bool weighted : {false, true}) {
        if (weighted && pooling == PoolingType::kNone) continue;
        EXPECT_EQ(Waits({sharder, pooling, weighted}), 0);
      }
  EXPECT_EQ(Waits({.sharder = TableWise(1), .output = DType::kBF16}), 0);
}

// A host reads once a step how many ids each block of rows gets.
TEST(ShardedHostWaitsTest, OneReadOfEachRankWhereRowsAreSplit) {
  for (const PoolingType pooling : {PoolingType::kSum, PoolingType::kMean, PoolingType::kNone})
    EXPECT_EQ(Waits({RowWise(), pooling}), kOneReadOfEach);
  EXPECT_EQ(Waits({.sharder = TableRowWise(0), .layout = {4, 2}}), 2 * kOneReadOfEach);
}

// How many distinct ids a batch has, and how many of each table.
TEST(ShardedHostWaitsTest, TwoReadsOfEachRankWhereIdsTravelOnce) {
  EXPECT_EQ(
      Waits({.sharder = TableWise(1), .pooling = PoolingType::kNone, .dedup = IdDedup::kRank}),
      2 * kOneReadOfEach);
}

}  // namespace
}  // namespace tessera
