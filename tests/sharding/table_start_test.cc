// Which tables may be sharded in which ways, and which memory is left after they are made.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "comm/local_communicator.h"
#include "runtime/base/process_memory.h"
#include "runtime/ops/arithmetic.h"
#include "sharding/checkpoint/state_rows.h"
#include "sharding/plan/column_cuts.h"
#include "sharding/plan/plan_makers.h"
#include "sharding/sharded_embedding_bag_collection.h"
#include "sharding/table_checkpoint.h"
#include "tests/testing/error_of.h"

namespace tessera {
namespace {

using testing::ErrorOf;
using ::testing::HasSubstr;

EmbeddingBagConfig Table(int64_t rows, AnyRule rule = Sgd{}) {
  EmbeddingBagConfig table;
  table.name = "t";
  table.num_embeddings = rows;
  table.embedding_dim = 8;
  table.feature_names = {"f"};
  table.optimizer = std::move(rule);
  return table;
}

ShardingPlan PlanFor(const EmbeddingBagConfig& table, const TableSharder& sharder) {
  const std::vector<TableShape> shapes = {{table.name, table.num_embeddings, table.embedding_dim}};
  return MakeShardingPlan({.world_size = 2, .local_size = 2}, shapes, sharder);
}

// Calls `look` on the table sharded over two ranks.
void OnRanks(const EmbeddingBagConfig& table, const TableSharder& sharder,
             const std::function<void(Context&, ShardedEmbeddingBagCollection&)>& look) {
  RunLocalRanks(2, [&](Communicator& comm) {
    Context ctx({.threads = 1});
    ShardedEmbeddingBagCollection sharded(ctx, comm, {table}, PlanFor(table, sharder));
    look(ctx, sharded);
  });
}

std::string ErrorOnRanks(const EmbeddingBagConfig& table, const TableSharder& sharder) {
  return ErrorOf([&] { OnRanks(table, sharder, [](auto&, auto&) {}); });
}

// The table has 32 MiB. When it is measured every rank has made its part, and no rank has ended.
TEST(TableStart, OfAnInitFnNothingIsKept) {
  EmbeddingBagConfig table = Table(1 << 20);
  table.init_fn = [](Context& ctx, const Tensor& rows) { rows.Fill(ctx, 0.5); };
  const int64_t before = HostAllocator().stats().live_bytes, bytes = table.num_embeddings * 8 * 4;
  std::vector<int64_t> live(2);
  RunLocalRanks(2, [&](Communicator& comm) {
    Context ctx({.threads = 1});
    ShardedEmbeddingBagCollection sharded(ctx, comm, {table}, PlanFor(table, RowWise()));
    (void)comm.GatherStringsSync("", "made");
    live[static_cast<size_t>(comm.rank())] = HostAllocator().stats().live_bytes - before;
    (void)comm.GatherStringsSync("", "measured");
    const HeldShard held = sharded.tables().shards()[0];
    EXPECT_EQ(held.tables->weight(held.index).data<float>()[7], 0.5f);
  });
  for (const int64_t found : live) {
    EXPECT_GE(found, bytes);
    EXPECT_LT(found, bytes + bytes / 2);
  }
}

// All rows of a part that are reset at once start anew, as some of them do, and the same in one
// step.
TEST(TableStart, RowsThatAreResetTakeNewNumbersInEachStep) {
  OnRanks(Table(8), RowWise(), [](Context& ctx, ShardedEmbeddingBagCollection& sharded) {
    const HeldShard held = sharded.tables().shards()[0];
    const auto values = [&] { return held.tables->weight(held.index).ToVector<float>(); };
    const std::vector<float> first = values();
    std::vector<int64_t> ids(4);
    std::iota(ids.begin(), ids.end(), 0);
    std::vector<float> before = first;
    for (int step = 0; step < 2; ++step) {
      const uint64_t sequence = ctx.random().next_sequence();
      held.tables->set_iter(step);
      held.tables->rows().Reset(ctx, held.index, Tensor::From(ctx, ids),
                                TableRows::ResetTo::kInitial);
      EXPECT_NE(values(), before);
      before = values();
      held.tables->rows().Reset(ctx, held.index, Tensor::From<int64_t>(ctx, {2}),
                                TableRows::ResetTo::kInitial);
      EXPECT_EQ(values(), before);
      EXPECT_EQ(ctx.random().next_sequence(), sequence);
    }
  });
}

TEST(TableStart, ReplicasNeedOneSeedAndOtherPartsDoNot) {
  const auto error = [](const TableSharder& sharder) {
    const EmbeddingBagConfig table = Table(8);
    return ErrorOf([&] {
      RunLocalRanks(2, [&](Communicator& comm) {
        Context ctx({.threads = 1, .seed = static_cast<uint64_t>(3 + comm.rank())});
        ShardedEmbeddingBagCollection(ctx, comm, {table}, PlanFor(table, sharder));
      });
    });
  };
  EXPECT_THAT(error(DataParallel()), HasSubstr("rank 0 has \"seed 3, 0 sequences\", rank 1 has"));
  EXPECT_EQ(error(RowWise()), "");
}

// All rows of the parts that a rank has, wherever they lie.
std::vector<Tensor> RowsHeld(Context& ctx, const EmbeddingBagConfig& table,
                             const ShardingPlan& plan, Communicator& comm) {
  ShardedEmbeddingBagCollection sharded(ctx, comm, {table}, plan);
  std::vector<Tensor> rows;
  for (const ShardTensors& shard : ShardTensorsOf(sharded.tables()))
    rows.push_back(RowsOfState(ctx, shard.Weights(), 0, shard.shard.rows).Clone(ctx));
  return rows;
}

TEST(TableStart, ATableOnDiskStartsAsOneInMemory) {
  EmbeddingBagConfig in_memory = Table(101);
  in_memory.data_type = DType::kF16;
  EmbeddingBagConfig on_disk = in_memory;
  on_disk.location = EmbeddingLocation::kDisk;
  for (const TableSharder& sharder :
       {RowWise(), ColumnWise({0, 1}), TableWise(1), DataParallel(), TableRowWise(0)})
    RunLocalRanks(2, [&](Communicator& comm) {
      const ShardingPlan plan = PlanFor(in_memory, sharder);
      Context ctx({.threads = 1, .seed = 3}), other({.threads = 1, .seed = 3});
      const std::vector<Tensor> expected = RowsHeld(ctx, in_memory, plan, comm),
                                got = RowsHeld(other, on_disk, plan, comm);
      ASSERT_EQ(got.size(), expected.size());
      for (size_t s = 0; s < got.size(); ++s) EXPECT_TRUE(SameBits(got[s], expected[s])) << s;
    });
}

// Trains two steps on every other row; returns the rows and states that this rank has.
std::vector<Tensor> RowsTrained(Context& ctx, const EmbeddingBagConfig& table,
                                const ShardingPlan& plan, Communicator& comm) {
  ShardedEmbeddingBagCollection sharded(ctx, comm, {table}, plan);
  for (int step = 0; step < 2; ++step) {
    std::vector<int64_t> ids;
    for (int64_t id = comm.rank() + step; id < table.num_embeddings; id += 7) ids.push_back(id);
    const std::vector<int64_t> lengths = {std::ssize(ids)};
    Tape tape(ctx);
    const Variable out =
        sharded
            .Forward(ctx, KeyedJaggedTensor::FromLengthsSync({"f"}, Tensor::From(ctx, ids),
                                                             Tensor::From(ctx, lengths)))
            .values();
    tape.Backward(Sum(ctx, Mul(ctx, out, out)));
  }
  std::vector<Tensor> rows;
  for (const HeldShard& held : sharded.tables().shards()) {
    const TableRows of = held.tables->rows();
    for (int p = 0; p < of.num_parts(held.index); ++p)
      rows.push_back(RowsOfState(ctx, of.part(held.index, p), 0, held.shard.rows).Clone(ctx));
  }
  return rows;
}

TEST(TableStart, PartsOfGrowingTablesHaveTheBitsOfAllRowsUnderEverySharding) {
  for (const DType type : {DType::kF32, DType::kBF16}) {
    EmbeddingBagConfig all = Table(101, PartialRowwiseAdam{.lr = 0.1f});
    all.data_type = type;
    all.stochastic_rounding = type != DType::kF32;
    EmbeddingBagConfig growing = all;
    growing.growing = true;
    for (const TableSharder& sharder :
         {RowWise(), ColumnWise({0, 1}), TableWise(1), DataParallel(), TableRowWise(0),
          TableColumnWise({1, 0}), GridShard({0, 0}, 4)})
      RunLocalRanks(2, [&](Communicator& comm) {
        const ShardingPlan plan = PlanFor(all, sharder);
        Context ctx({.threads = 1, .seed = 3}), other({.threads = 1, .seed = 3});
        const std::vector<Tensor> expected = RowsTrained(ctx, all, plan, comm),
                                  got = RowsTrained(other, growing, plan, comm);
        ASSERT_EQ(got.size(), expected.size());
        for (size_t s = 0; s < got.size(); ++s) EXPECT_TRUE(SameBits(got[s], expected[s])) << s;
      });
  }
}

// A growing table of 50 million rows of 64 columns, with two states, of which a hundred are used:
// with all rows it would take 38 GB.
TEST(TableStart, PartsOfGrowingTablesTakeMemoryForUsedRowsAlone) {
  EmbeddingBagConfig table = Table(50'000'000, Adam{});
  table.embedding_dim = 64;
  table.growing = true;
  for (const TableSharder& sharder :
       {RowWise(), ColumnWise({0, 1}), TableWise(1), DataParallel(), TableRowWise(0)}) {
    const int64_t before = MemoryOfProcess().bytes;
    OnRanks(table, sharder, [&](Context& ctx, ShardedEmbeddingBagCollection& sharded) {
      std::vector<int64_t> ids;
      for (int64_t i = 0; i < 100; ++i) ids.push_back(i * 100);
      Tape tape(ctx);
      const Variable out =
          sharded
              .Forward(ctx, KeyedJaggedTensor::FromLengthsSync({"f"}, Tensor::From(ctx, ids),
                                                               Tensor::From<int64_t>(ctx, {100})))
              .values();
      tape.Backward(Sum(ctx, out));
      EXPECT_LT(MemoryOfProcess().bytes - before, int64_t{1} << 29);
    });
  }
}

// Tables of which rows may not take memory on use have all of them.
TEST(TableStart, OtherGrowingTablesHaveAllRows) {
  EmbeddingBagConfig filled = Table(100);
  filled.init_fn = [](Context& ctx, const Tensor& rows) { rows.Fill(ctx, 0.5); };
  for (EmbeddingBagConfig table :
       {filled, Table(100, Dense{}), Table(100, EnsembleRowwiseAdagrad{})}) {
    table.growing = true;
    OnRanks(table, RowWise(), [](Context&, ShardedEmbeddingBagCollection& sharded) {
      const HeldShard held = sharded.tables().shards()[0];
      EXPECT_EQ(held.tables->weight(held.index).dim(0), held.shard.rows);
    });
  }
  EmbeddingBagConfig growing = Table(100);
  growing.growing = true;
  OnRanks(growing, RowWise(), [](Context&, ShardedEmbeddingBagCollection& sharded) {
    const HeldShard held = sharded.tables().shards()[0];
    EXPECT_THAT(ErrorOf([&] { (void)held.tables->weight(held.index); }),
                HasSubstr("table t: it grows in parts"));
    EXPECT_THAT(ErrorOf([&] { (void)held.tables->optimizer_states(held.index); }),
                HasSubstr("rows().part reads"));
  });
}

TEST(TableStart, AnInitFnIsRefusedOnDisk) {
  EmbeddingBagConfig table = Table(100);
  table.location = EmbeddingLocation::kDisk;
  table.init_fn = [](Context& ctx, const Tensor& rows) { rows.Fill(ctx, 0.5); };
  EXPECT_THAT(ErrorOnRanks(table, TableWise(1)),
              HasSubstr("table t: location DISK: an init_fn fills a whole table in memory"));
}

TEST(TableStart, HalvesOfARowAreNotCut) {
  const EmbeddingBagConfig table = Table(100, EmaInPlaceRowwiseAdagrad{});
  EXPECT_THAT(ErrorOnRanks(table, ColumnWise({0, 1})),
              HasSubstr("plan: table t (column_wise): its rule emainplace_rowwise_adagrad needs "
                        "whole rows"));
  EXPECT_THAT(ErrorOnRanks(table, TableColumnWise({0, 1})), HasSubstr("needs whole rows"));
  EXPECT_EQ(ErrorOnRanks(table, RowWise()), "");
  EXPECT_EQ(ErrorOnRanks(table, TableWise(1)), "");
  EXPECT_EQ(ErrorOnRanks(Table(100, RowwiseAdagrad{}), ColumnWise({0, 1})), "");
}

}  // namespace
}  // namespace tessera
