#include "sharding/checkpoint/checkpoint.h"

#include <gtest/gtest.h>

#include <cmath>

#include "sharding/checkpoint/reshard_checkpoint.h"
#include "tests/sharding/checkpoint_for_tests.h"
#include "tests/testing/devices.h"
#include "tests/train/testing/files.h"

namespace tessera {
namespace {

using testing::Cut;
using testing::EmptyFolder;
using testing::ErrorOf;
using testing::Model;
using testing::RoomFor;
using testing::SameShard;
using testing::SaveModel;
using testing::ShapesOf;
using testing::WholeTable;

struct NamedPlan {
  std::string name;
  ShardingPlan plan;
  bool cuts_columns = false;
};

// Plans of every type, on 1 to 8 ranks; tables have 64 columns.
std::vector<NamedPlan> PlansFor(const std::vector<TableShape>& tables) {
  const auto plan = [&](int world_size, int local_size, const TableSharder& sharder) {
    return MakeShardingPlan({.world_size = world_size, .local_size = local_size}, tables, sharder);
  };
  return {{"unsharded", plan(1, 1, TableWise(0))},
          {"data_parallel", plan(3, 3, DataParallel())},
          {"table_wise", plan(2, 2, TableWise(1))},
          {"row_wise 4", plan(4, 2, RowWise())},
          {"row_wise 8, some without rows", plan(8, 4, RowWise())},
          {"table_row_wise", plan(4, 2, TableRowWise(1))},
          {"column_wise 4", plan(4, 4, ColumnWise({3, 1, 1, 0})), true},
          {"column_wise, uneven", plan(3, 3, ColumnWiseSizes({5, 40, 19})), true},
          {"table_column_wise", plan(4, 2, TableColumnWise({2, 3})), true},
          {"grid_shard", plan(4, 2, GridShard({1, 0}, 32)), true}};
}

Model SmallModel(Context& ctx) {
  return {WholeTable(ctx, {"a", 7, 64}, 1), WholeTable(ctx, {"b", 3, 64}, 2, DType::kF16),
          WholeTable(ctx, {"c/\"d\"", 1, 64}, 3, DType::kBF16)};
}

class ShardedCheckpointTest : public testing::DeviceTest {};

TEST_P(ShardedCheckpointTest, TheSamePlanGetsTheSameBits) {
  const Model model = SmallModel(ctx());
  for (const auto& [name, plan, unused] : PlansFor(ShapesOf(model))) {
    const std::string folder = EmptyFolder("same");
    SaveModel(ctx(), folder, model, plan);
    ShardedCheckpoint checkpoint(folder);
    EXPECT_EQ(checkpoint.info().plan, plan);
    for (const ShardTensors& table : model) {
      for (const Shard& shard : plan.tables.at(table.table).shards) {
        const ShardTensors room = RoomFor(ctx(), table, shard);
        checkpoint.Read(ctx(), room);
        EXPECT_TRUE(SameShard(room, Cut(ctx(), table, shard))) << name << ": " << ToString(shard);
      }
    }
    EXPECT_TRUE(StatisticsChanged(checkpoint.index(), plan).empty()) << name;
  }
}

// All column blocks have the same statistics of a row here, so that every plan gives the same bits.
TEST_P(ShardedCheckpointTest, EveryPlanLoadsIntoEveryOther) {
  const Model model = SmallModel(ctx());
  const std::vector<NamedPlan> plans = PlansFor(ShapesOf(model));
  int64_t pairs = 0;
  for (const NamedPlan& from : plans) {
    const std::string folder = EmptyFolder("any");
    SaveModel(ctx(), folder, model, from.plan);
    ShardedCheckpoint checkpoint(folder);
    for (const NamedPlan& to : plans) {
      std::vector<ShardTensors> rooms;
      for (const ShardTensors& table : model)
        for (const Shard& shard : to.plan.tables.at(table.table).shards)
          rooms.push_back(RoomFor(ctx(), table, shard));
      LoadShards(ctx(), checkpoint, rooms);
      size_t at = 0;
      for (const ShardTensors& table : model)
        for (const Shard& shard : to.plan.tables.at(table.table).shards)
          EXPECT_TRUE(SameShard(rooms[at++], Cut(ctx(), table, shard)))
              << from.name << " to " << to.name << ": " << ToString(shard);
      ++pairs;
    }
  }
  std::printf("%lld pairs of plans\n", static_cast<long long>(pairs));
  EXPECT_EQ(pairs, 100);
}

TEST_P(ShardedCheckpointTest, WholeTensorsAndWhatIsSaidOfTablesComeBack) {
  const Model model = SmallModel(ctx());
  const ShardingPlan plan = PlansFor(ShapesOf(model))[3].plan;
  const std::string folder = EmptyFolder("whole");
  const Tensor dense = Tensor::From<float>(ctx(), {2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor step = Tensor::From<int64_t>(ctx(), Shape{}, {5});
  SaveModel(ctx(), folder, model, plan,
            {{"over.weight", dense}, {"optimizer.over.weight.step", step}});
  ShardedCheckpoint checkpoint(folder);
  EXPECT_TRUE(SameBits(checkpoint.ReadWhole(ctx(), "over.weight"), dense));
  EXPECT_TRUE(SameBits(checkpoint.ReadWhole(ctx(), "optimizer.over.weight.step"), step));
  EXPECT_NE(ErrorOf([&] { checkpoint.ReadWhole(ctx(), "x"); }).find("there is no tensor x"),
            std::string::npos);
  const CheckpointTable& table = checkpoint.table("c/\"d\"");
  EXPECT_EQ(table.parameter, "bags.c/\"d\".weight");
  EXPECT_EQ(table.rule, "adam");
  EXPECT_EQ(table.iter, 17);
  EXPECT_EQ(table.max_counter, 2.5f);
  EXPECT_EQ(checkpoint.info().metadata.at("config"), "{\"a\": 1}");
}

TEST_P(ShardedCheckpointTest, WeightsAloneAreLoadedWhereNoStateIsAskedFor) {
  const Model model = SmallModel(ctx());
  const std::string folder = EmptyFolder("weights");
  SaveModel(ctx(), folder, model, PlansFor(ShapesOf(model))[6].plan);
  ShardedCheckpoint checkpoint(folder);
  ShardTensors room = RoomFor(ctx(), model[0], {0, 2, 3, 4, 50});
  room.states.clear();
  checkpoint.Read(ctx(), room);
  EXPECT_TRUE(SameBits(room.weights, Cut(ctx(), model[0], room.shard).weights));
}

TESSERA_INSTANTIATE_DEVICES(ShardedCheckpointTest);

class StatisticsTest : public ::testing::Test {
 protected:
  // Saves under column blocks of 2, 4 and 10 columns, with the given statistics of each block.
  void SaveBlocks(const std::vector<std::vector<float>>& numbers, DType type = DType::kF32) {
    const ShardingPlan plan =
        MakeShardingPlan({.world_size = 3, .local_size = 3}, kShapes, ColumnWiseSizes({2, 4, 10}));
    RunLocalRanks(3, [&](Communicator& comm) {
      Context own({.threads = 1});
      const Shard& shard = plan.tables.at("t").shards[static_cast<size_t>(comm.rank())];
      const std::vector<ShardTensors> mine = {
          {"t",
           shard,
           Tensor::Zeros(own, {2, shard.columns}),
           {{"sum", Tensor::From(own, numbers[static_cast<size_t>(comm.rank())]).To(own, type)}}}};
      SaveShardedCheckpoint(
          own, comm, folder_,
          {.plan = plan, .tables = {{kShapes[0], "t", "rowwise_adagrad"}}, .metadata = {}}, mine);
    });
  }
  // The statistics of columns [begin, end) after loading.
  template <typename T = float>
  std::vector<T> Loaded(int64_t begin, int64_t end) {
    ShardedCheckpoint checkpoint(folder_);
    const ShardTensors room{"t",
                            {0, 0, begin, 2, end - begin},
                            Tensor::Zeros(ctx_, {2, end - begin}),
                            {{"sum", Tensor::Zeros(ctx_, {2}, DTypeOf<T>::value)}}};
    checkpoint.Read(ctx_, room);
    return room.states[0].tensor.ToVector<T>();
  }

  const std::vector<TableShape> kShapes = {{"t", 2, 16}};
  const std::string folder_ = EmptyFolder("statistics");
  Context ctx_{{.threads = 1}};
};

TEST_F(StatisticsTest, MergingTakesTheMeanWeightedByColumns) {
  SaveBlocks({{8, 1}, {16, 2}, {32, -4}});
  EXPECT_EQ(Loaded(0, 16), (std::vector<float>{(16 + 64 + 320) / 16.0f, (2 + 8 - 40) / 16.0f}));
  EXPECT_EQ(Loaded(0, 6), (std::vector<float>{(16 + 64) / 6.0f, 10 / 6.0f}));
  EXPECT_EQ(Loaded(1, 4), (std::vector<float>{(8 + 32) / 3.0f, 5 / 3.0f}));
}

TEST_F(StatisticsTest, OneBlocksNumbersAreCopiedBitForBit) {
  SaveBlocks({{-0.0f, 0.1f}, {3, 3}, {3, 3}});
  EXPECT_TRUE(std::signbit(Loaded(0, 2)[0]));
  EXPECT_TRUE(std::signbit(Loaded(1, 2)[0]));
  EXPECT_EQ(Loaded(0, 1)[1], 0.1f);
  EXPECT_EQ(Loaded(3, 16), (std::vector<float>{3, 3})) << "blocks that agree keep their number";
}

TEST_F(StatisticsTest, SixteenBitsAreRoundedOnce) {
  SaveBlocks({{1, 1}, {2, 2}, {3, 3}}, DType::kBF16);
  EXPECT_EQ(static_cast<float>(Loaded<BFloat16>(0, 16)[0]),
            static_cast<float>(BFloat16(40 / 16.0f)));
}

TEST_F(StatisticsTest, WhatChangesIsSaid) {
  SaveBlocks({{1, 1}, {2, 2}, {3, 3}});
  const ShardedCheckpoint checkpoint(folder_);
  const auto said = [&](const TableSharder& sharder) {
    return StatisticsChanged(
        checkpoint.index(), MakeShardingPlan({.world_size = 3, .local_size = 3}, kShapes, sharder));
  };
  EXPECT_EQ(said(RowWise()),
            std::vector<std::string>{
                "table t: sum of columns 0 to 16: the mean, weighted by columns, of 3 column "
                "blocks"});
  EXPECT_EQ(said(ColumnWiseSizes({2, 4, 10})), std::vector<std::string>{});
  EXPECT_EQ(said(ColumnWiseSizes({2, 1, 13})),
            (std::vector<std::string>{
                "table t: sum of columns 2 to 3: a copy of what a wider column block had",
                "table t: sum of columns 3 to 16: the mean, weighted by columns, of 2 column "
                "blocks"}));
}

TEST_F(StatisticsTest, CountsAreAlikeInAllBlocks) {
  SaveBlocks({{1, 1}, {1, 1}, {1, 1}});
  const ShardedCheckpoint checkpoint(folder_);
  const ShardingPlan plan =
      MakeShardingPlan({.world_size = 3, .local_size = 3}, kShapes, RowWise());
  EXPECT_EQ(StatisticsChanged(checkpoint.index(), plan, {{"t", "other"}, {"u", "sum"}}).size(), 1u);
  EXPECT_EQ(StatisticsChanged(checkpoint.index(), plan, {{"t", "sum"}}).size(), 0u);
}

// Pieces have checksums of their own: several for a tensor, with borders inside of rows.
TEST(LargeShardedCheckpoint, PartsOfTensorsOfManyPiecesAreRead) {
  Context ctx({.threads = 2});
  const Model model = {WholeTable(ctx, {"large", 30011, 33}, 5)};
  const std::vector<TableShape> shapes = ShapesOf(model);
  const std::string folder = EmptyFolder("large");
  SaveModel(
      ctx, folder, model,
      MakeShardingPlan({.world_size = 2, .local_size = 2}, shapes, ColumnWiseSizes({20, 13})));
  ShardedCheckpoint checkpoint(folder);
  for (const Shard& shard : {Shard{0, 0, 0, 30011, 33}, Shard{0, 7001, 11, 20000, 14}}) {
    const ShardTensors room = RoomFor(ctx, model[0], shard);
    checkpoint.Read(ctx, room);
    EXPECT_TRUE(SameShard(room, Cut(ctx, model[0], shard)));
  }
}

TEST(ReshardCheckpoint, WritesWhatTheOtherRanksWouldHaveSaved) {
  Context ctx({.threads = 1});
  const Model model = SmallModel(ctx);
  const std::vector<NamedTensor> dense = {{"bias", Tensor::Full(ctx, {9}, 4)}};
  const std::vector<NamedPlan> plans = PlansFor(ShapesOf(model));
  for (const NamedPlan& from : plans) {
    for (const NamedPlan& to : {plans[0], plans[1], plans[4], plans[9]}) {
      const std::string saved = EmptyFolder("from"), folder = EmptyFolder("to");
      SaveModel(ctx, saved, model, from.plan, dense);
      ShardedCheckpoint checkpoint(saved);
      int64_t last = 0, total = 0;
      ReshardCheckpoint(checkpoint, to.plan, folder, [&](int64_t done, int64_t all) {
        EXPECT_GT(done, last);
        last = done;
        total = all;
      });
      EXPECT_EQ(last, total);
      ShardedCheckpoint result(folder);
      EXPECT_EQ(result.info().plan, to.plan);
      EXPECT_EQ(result.info().metadata, checkpoint.info().metadata);
      EXPECT_EQ(result.index().files.size(), static_cast<size_t>(to.plan.world_size));
      EXPECT_TRUE(SameBits(result.ReadWhole(ctx, "bias"), dense[0].tensor));
      for (const ShardTensors& table : model) {
        const ShardTensors room = RoomFor(ctx, table, table.shard);
        result.Read(ctx, room);
        EXPECT_TRUE(SameShard(room, table)) << from.name << " to " << to.name;
      }
    }
  }
}

TEST(ReshardCheckpoint, AFolderMayBeItsOwnTarget) {
  Context ctx({.threads = 1});
  const Model model = SmallModel(ctx);
  const std::vector<NamedPlan> plans = PlansFor(ShapesOf(model));
  const std::string folder = EmptyFolder("in_place");
  SaveModel(ctx, folder, model, plans[3].plan);
  ShardedCheckpoint checkpoint(folder);
  ReshardCheckpoint(checkpoint, plans[9].plan, folder);
  ShardedCheckpoint result(folder);
  EXPECT_EQ(result.index().save, 2);
  const ShardTensors room = RoomFor(ctx, model[0], model[0].shard);
  result.Read(ctx, room);
  EXPECT_TRUE(SameShard(room, model[0]));
}

}  // namespace
}  // namespace tessera
