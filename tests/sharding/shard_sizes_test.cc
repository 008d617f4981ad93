#include "sharding/plan/shard_sizes.h"

#include <gtest/gtest.h>

#include <random>

#include "sharding/plan/plan_makers.h"
#include "tests/train/testing/files.h"

namespace tessera {
namespace {

using testing::ErrorOf;
using T = ShardingType;

std::vector<int64_t> RowsOf(const std::vector<Shard>& shards) {
  std::vector<int64_t> rows;
  for (const Shard& s : shards) rows.push_back(s.rows);
  return rows;
}

TEST(ShardSizes, RowsAreCutIntoEqualBlocksWithATailThatMayBeEmpty) {
  using Sizes = std::vector<int64_t>;
  EXPECT_EQ(RowsOf(ShardSizes(T::kRowWise, {"t", 10, 8}, 4, 2)), Sizes({3, 3, 3, 1}));
  const std::vector<Shard> shards = ShardSizes(T::kRowWise, {"t", 5, 8}, 4, 2);
  EXPECT_EQ(RowsOf(shards), Sizes({2, 2, 1, 0}));
  EXPECT_EQ(shards[3], (Shard{-1, 5, 0, 0, 8}));
  EXPECT_EQ(RowsOf(ShardSizes(T::kTableRowWise, {"t", 5, 8}, 4, 2)), Sizes({3, 2}));
}

TEST(ShardSizes, ColumnBlocksDivideDimAndAreMultiplesOf4) {
  EXPECT_EQ(ColumnBlock(256, 128), 128);
  EXPECT_EQ(ColumnBlock(128, 128), 128);
  EXPECT_EQ(ColumnBlock(96, 32), 32);
  EXPECT_EQ(ColumnBlock(96, 33), 48);
  EXPECT_EQ(ColumnBlock(12, 6), 12);
  EXPECT_EQ(ColumnBlock(20, 1), 4);
  EXPECT_EQ(ColumnBlock(7, 1), 7);
}

TEST(ShardSizes, OptionsThatDoNotFitAreRefused) {
  const TableShape table{"t", 10, 8};
  const auto error = [&](T type, const ShardSizeOptions& options) {
    return ErrorOf([&] { ShardSizes(type, table, 4, 2, options); });
  };
  EXPECT_NE(error(T::kRowWise, {.num_buckets = 3}).find("a num_buckets that divides its 10 rows"),
            std::string::npos);
  EXPECT_NE(error(T::kRowWise, {.device_memory_sizes = {1, 2}}).find("one a rank"),
            std::string::npos);
  EXPECT_NE(error(T::kRowWise, {.device_memory_sizes = {1, 2, 0, 1}}).find("sizes above 0, got 0"),
            std::string::npos);
  EXPECT_NE(error(T::kTableWise, {.num_buckets = 5})
                .find("num_buckets are for row_wise and table_row_wise, not for table_wise"),
            std::string::npos);
  EXPECT_NE(error(T::kTableRowWise, {.device_memory_sizes = {1, 1, 1, 1}})
                .find("device_memory_sizes are for row_wise, not for table_row_wise"),
            std::string::npos);
  EXPECT_EQ(RowsOf(ShardSizes(T::kTableRowWise, table, 4, 2, {.num_buckets = 5})),
            (std::vector<int64_t>{6, 4}));
  EXPECT_NE(error(T::kColumnWise, {.min_partition = 0}), "");
  EXPECT_NE(ErrorOf([] { ShardSizes(T::kRowWise, {"t", 0, 8}, 4, 2); }), "");
}

TEST(ShardSizes, EveryCutOfEveryTableIsAPlan) {
  std::mt19937 random(7);
  for (int i = 0; i < 300; ++i) {
    const RankLayout layout{.world_size = 1 << random() % 4, .local_size = 1};
    RankLayout nodes = layout;
    nodes.local_size = 1 << random() % 3;
    if (nodes.world_size % nodes.local_size != 0) nodes.local_size = nodes.world_size;
    const std::vector<TableShape> tables = {
        {"t", 1 + static_cast<int64_t>(random() % 40), 1 + static_cast<int64_t>(random() % 300)}};
    const int last = nodes.world_size - 1;
    const int64_t blocks = tables[0].dim / ColumnBlock(tables[0].dim, 16);
    const std::vector<int> hosts(static_cast<size_t>(blocks), last / nodes.local_size);
    for (const TableSharder& sharder :
         {DataParallel(), TableWise(last), RowWise(), ColumnWise({last}), TableColumnWise({last}),
          TableRowWise(last / nodes.local_size), GridShard(hosts, 16)})
      EXPECT_EQ(ErrorOf([&] { MakeShardingPlan(nodes, tables, sharder); }), "");
  }
}

TEST(PlanMakers, SizesGivenByHand) {
  const std::vector<TableShape> tables = {{"t", 10, 6}};
  const RankLayout layout{.world_size = 3, .local_size = 3};
  const auto shards = [&](const TableSharder& sharder) {
    return MakeShardingPlan(layout, tables, sharder).tables.at("t").shards;
  };
  EXPECT_EQ(shards(RowWise({0, 9, 1})),
            (std::vector<Shard>{{0, 0, 0, 0, 6}, {1, 0, 0, 9, 6}, {2, 9, 0, 1, 6}}));
  EXPECT_EQ(shards(ColumnWiseSizes({1, 5})),
            (std::vector<Shard>{{0, 0, 0, 10, 1}, {1, 0, 1, 10, 5}}));
  EXPECT_EQ(ErrorOf([&] {
              shards(RowWise({1, 2, 3}));
            }),
            "table t: expected sizes of 10 rows together, got 6");
  EXPECT_EQ(ErrorOf([&] {
              shards(ColumnWiseSizes({1, 2, 2, 1}));
            }),
            "table t: sizes for 4 ranks, but there are 3");
  EXPECT_EQ(ErrorOf([&] {
              shards(ColumnWiseSizes({1, 0, 5}));
            }),
            "table t: expected at least 1 column for rank 1, got 0");
}

TEST(PlanMakers, WhatDoesNotFitIsRefused) {
  const std::vector<TableShape> tables = {{"t", 10, 20}, {"u", 10, 256}};
  const RankLayout layout{.world_size = 4, .local_size = 2};
  const auto error = [&](const TableSharder& t, const TableSharder& u) {
    return ErrorOf([&] { MakeShardingPlan(layout, tables, {{"t", t}, {"u", u}}); });
  };
  const TableSharder good = TableWise(0);
  EXPECT_EQ(error(good, good), "");
  EXPECT_EQ(error(ColumnWise({0, 1, 2}), good),
            "table t (column_wise): expected a dim that its 3 ranks [0, 1, 2] divide, got 20");
  EXPECT_EQ(error(good, TableRowWise(2)), "table u: host 2: there are hosts 0 to 1");
  EXPECT_EQ(error(good, GridShard({0})),
            "table u: its 256 columns make 2 blocks, got the hosts [0]");
  EXPECT_NE(error(good, TableColumnWise({1, 2})).find("expected ranks of one node"),
            std::string::npos);
  EXPECT_NE(error(TableWise(4), good).find("there are ranks 0 to 3"), std::string::npos);
  EXPECT_EQ(ErrorOf([&] {
              MakeShardingPlan(layout, tables, {{"t", good}});
            }),
            "plan: table u is missing");
  EXPECT_EQ(ErrorOf([&] {
              MakeShardingPlan(layout, tables, {{"v", good}});
            }),
            "plan: there is no table v");
}

}  // namespace
}  // namespace tessera
