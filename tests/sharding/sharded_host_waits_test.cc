// Training steps of sharded tables in which hosts hardly wait for their devices: the emulator
// counts the waits of all ranks.
#include <gtest/gtest.h>

#include "comm/local_communicator.h"
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

// Made on the host, and moved.
KeyedJaggedTensor Batch(Context& ctx, int step) {
  Context cpu;
  std::vector<int64_t> ids, lengths;
  for (int64_t bag = 0; bag < 2 * kBags; ++bag) {
    lengths.push_back((bag + step) % 4);
    for (int64_t i = 0; i < lengths.back(); ++i)
      ids.push_back((7 * bag + 3 * i + step) % kRows);
  }
  return KeyedJaggedTensor::FromLengthsSync({"a", "b"}, Tensor::From(cpu, ids),
                                            Tensor::From(cpu, lengths))
      .To(ctx, Device::Cuda());
}

int64_t WaitsOfSteps(const TableSharder& sharder, IdDedup dedup = IdDedup::kNone) {
  int64_t waits = 0;
  RunLocalRanks(kRanks, [&](Communicator& comm) {
    Context ctx({.device = Device::Cuda()});
    const std::vector<TableShape> shapes = {{"t", kRows, kDim}, {"u", kRows, kDim}};
    const ShardingPlan plan = MakeShardingPlan({kRanks, kRanks}, shapes, sharder);
    ShardedTables tables(ctx, comm, {Table("t"), Table("u")},
                         {PoolingType::kSum, PoolingType::kMean}, {{"a", 0, "a"}, {"b", 1, "b"}},
                         plan,
                         {.bounds_check = BoundsCheckMode::kWarning,
                          .sharding = {.dedup_ids = dedup}});
    std::vector<KeyedJaggedTensor> batches;
    for (int step = 0; step < kSteps; ++step) batches.push_back(Batch(ctx, step));
    const auto syncs_of_all = [&] {
      comm.ExchangeNumbersSync(std::vector<std::vector<int64_t>>(kRanks), "test");
      return cuda_emulation::Stats().syncs;
    };
    const int64_t before = syncs_of_all();
    syncs_of_all();  // nobody goes on before all have counted
    for (const KeyedJaggedTensor& batch : batches) {
      Tape tape(ctx);
      const Variable out = tables.Forward(ctx, batch)[0];
      tape.Backward(out, Tensor::Full(ctx, out.shape(), 1));
    }
    const int64_t after = syncs_of_all();
    syncs_of_all();
    if (IsLeader(comm)) waits = after - before;
  });
  return waits;
}

TEST(ShardedHostWaitsTest, NoneWhereTablesAreWhole) {
  EXPECT_EQ(WaitsOfSteps(TableWise(1)), 0);
  EXPECT_EQ(WaitsOfSteps(ColumnWise({0, 1})), 0);
  EXPECT_EQ(WaitsOfSteps(DataParallel()), 0);
}

// A host reads once a step how many ids each block of rows gets; a copy to its memory counts twice.
TEST(ShardedHostWaitsTest, OneOfEachRankWhereRowsAreSplit) {
  EXPECT_EQ(WaitsOfSteps(RowWise()), 2 * kRanks * kSteps);
}

}  // namespace
}  // namespace tessera
