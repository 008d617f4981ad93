#include "sharding/plan/plan.h"

#include <gtest/gtest.h>

#include "sharding/plan/plan_makers.h"
#include "tests/train/testing/files.h"

namespace tessera {
namespace {

using testing::ErrorOf;

const std::vector<TableShape> kTables = {{"t0", 10, 16}};

// One table of 10 rows and 16 columns on 4 ranks, 2 a node.
ShardingPlan PlanOf(ShardingType type, std::vector<Shard> shards) {
  return {.world_size = 4,
          .local_size = 2,
          .tables = {{"t0", {.type = type, .shards = std::move(shards)}}}};
}

// The error of CheckPlan.
std::string Refusal(ShardingType type, std::vector<Shard> shards) {
  return ErrorOf([&] { CheckPlan(PlanOf(type, std::move(shards)), kTables); });
}

TEST(ShardingPlan, NamesAreTorchRecs) {
  EXPECT_EQ(ToString(ShardingType::kTableColumnWise), "table_column_wise");
  EXPECT_EQ(ParseShardingType("grid_shard"), ShardingType::kGridShard);
  EXPECT_EQ(ErrorOf([] { ParseShardingType("rowwise"); }),
            "sharding type 'rowwise': expected data_parallel, table_wise, column_wise, row_wise, "
            "table_row_wise, table_column_wise or grid_shard");
  EXPECT_EQ(ParseComputeKernel("fused_uvm_caching"), ComputeKernel::kFusedUvmCaching);
  EXPECT_EQ(ParseComputeKernel("key_value"), ComputeKernel::kKeyValue);
  EXPECT_EQ(ErrorOf([] { ParseComputeKernel("quant"); }),
            "compute kernel 'quant': expected dense, fused, fused_uvm, fused_uvm_caching or "
            "key_value");
}

TEST(ShardingPlan, SoundPlansPass) {
  using T = ShardingType;
  EXPECT_EQ(Refusal(T::kTableWise, {{3, 0, 0, 10, 16}}), "");
  EXPECT_EQ(Refusal(T::kColumnWise, {{3, 0, 0, 10, 3}, {3, 0, 3, 10, 13}}), "");
  EXPECT_EQ(Refusal(T::kTableColumnWise, {{3, 0, 0, 10, 3}, {2, 0, 3, 10, 13}}), "");
  EXPECT_EQ(Refusal(T::kTableRowWise, {{2, 0, 0, 3, 16}, {3, 3, 0, 7, 16}}), "");
  EXPECT_EQ(Refusal(T::kGridShard,
                    {{2, 0, 0, 5, 4}, {3, 5, 0, 5, 4}, {0, 0, 4, 5, 12}, {1, 5, 4, 5, 12}}),
            "");
  EXPECT_EQ(Refusal(T::kDataParallel,
                    {{0, 0, 0, 10, 16}, {1, 0, 0, 10, 16}, {2, 0, 0, 10, 16}, {3, 0, 0, 10, 16}}),
            "");
}

TEST(ShardingPlan, BucketsOfRowsStayWhole) {
  const TableSharding sharding = RowWiseBuckets(5)(kTables[0], {.world_size = 4, .local_size = 2});
  std::vector<int64_t> rows;
  for (const Shard& s : sharding.shards) rows.push_back(s.rows);
  EXPECT_EQ(rows, (std::vector<int64_t>{4, 2, 2, 2}));
  EXPECT_EQ(Refusal(ShardingType::kRowWise, sharding.shards), "");
  const TableSharding node =
      TableRowWiseBuckets(1, 5)(kTables[0], {.world_size = 4, .local_size = 2});
  EXPECT_EQ(node.shards, (std::vector<Shard>{{2, 0, 0, 6, 16}, {3, 6, 0, 4, 16}}));
  EXPECT_EQ(Refusal(ShardingType::kTableRowWise, node.shards), "");
}

TEST(ShardingPlan, BlocksWithoutRowsAreFineEverywhere) {
  EXPECT_EQ(Refusal(ShardingType::kRowWise,
                    {{0, 0, 0, 0, 16}, {1, 0, 0, 10, 16}, {2, 10, 0, 0, 16}, {3, 10, 0, 0, 16}}),
            "");
}

TEST(ShardingPlan, GapsAreNamed) {
  using T = ShardingType;
  EXPECT_EQ(Refusal(T::kColumnWise, {{0, 0, 0, 10, 8}, {1, 0, 12, 10, 4}}),
            "plan: table t0 (column_wise): gap: columns 8 to 12 are on no rank");
  EXPECT_EQ(Refusal(T::kColumnWise, {{0, 0, 0, 10, 8}}),
            "plan: table t0 (column_wise): gap: columns 8 to 16 are on no rank");
  EXPECT_EQ(Refusal(T::kTableRowWise, {{0, 0, 0, 4, 16}, {1, 5, 0, 5, 16}}),
            "plan: table t0 (table_row_wise): gap: rows 4 to 5 of columns 0 to 16 are on no rank");
  EXPECT_EQ(Refusal(T::kTableWise, {{0, 0, 0, 9, 16}}),
            "plan: table t0 (table_wise): gap: rows 9 to 10 of columns 0 to 16 are on no rank");
}

TEST(ShardingPlan, OverlapsAreNamed) {
  using T = ShardingType;
  EXPECT_EQ(Refusal(T::kColumnWise, {{0, 0, 0, 10, 8}, {1, 0, 6, 10, 10}}),
            "plan: table t0 (column_wise): overlap: rank 0: rows 0 to 10, columns 0 to 8, and rank "
            "1: rows 0 to 10, columns 6 to 16");
  EXPECT_EQ(Refusal(T::kTableRowWise, {{0, 0, 0, 6, 16}, {1, 5, 0, 5, 16}}),
            "plan: table t0 (table_row_wise): overlap: rank 0: rows 0 to 6, columns 0 to 16, and "
            "rank 1: rows 5 to 10, columns 0 to 16");
  EXPECT_NE(Refusal(T::kGridShard, {{0, 0, 0, 5, 8}, {1, 5, 0, 5, 16}}).find("overlap of columns"),
            std::string::npos);
}

TEST(ShardingPlan, RanksAndPlacesOutsideAreNamed) {
  using T = ShardingType;
  EXPECT_EQ(Refusal(T::kTableWise, {{4, 0, 0, 10, 16}}),
            "plan: table t0 (table_wise): rank 4: rows 0 to 10, columns 0 to 16: there are ranks 0 "
            "to 3");
  for (const Shard& shard :
       {Shard{0, 1, 0, 10, 16}, Shard{0, 0, -1, 10, 16}, Shard{0, 0, 0, INT64_MAX, 16}})
    EXPECT_NE(Refusal(T::kTableWise, {shard}).find("not inside the table, which is [10, 16]"),
              std::string::npos);
  EXPECT_NE(Refusal(T::kTableWise, {{0, 0, 0, 10, 0}}).find("a shard without columns"),
            std::string::npos);
  EXPECT_EQ(Refusal(T::kTableWise, {}), "plan: table t0 (table_wise): it has no shards");
}

TEST(ShardingPlan, ShardsAreWhatTheTypeSays) {
  using T = ShardingType;
  const Shard left{0, 0, 0, 10, 8}, right{2, 0, 8, 10, 8};
  EXPECT_NE(Refusal(T::kTableWise, {left, right}).find("expected one shard, got 2"),
            std::string::npos);
  EXPECT_NE(Refusal(T::kTableColumnWise, {left, right}).find("expected ranks of one node"),
            std::string::npos);
  EXPECT_NE(Refusal(T::kRowWise, {left, right}).find("expected all 16 columns"), std::string::npos);
  EXPECT_NE(Refusal(T::kColumnWise, {right, left}).find("not in order"), std::string::npos);
  EXPECT_NE(Refusal(T::kColumnWise, {{0, 0, 0, 5, 16}, {1, 5, 0, 5, 16}}).find("all 10 rows"),
            std::string::npos);
  EXPECT_NE(
      Refusal(T::kRowWise, {{0, 0, 0, 5, 16}, {1, 5, 0, 5, 16}}).find("expected 4 blocks of rows"),
      std::string::npos);
  EXPECT_NE(Refusal(T::kTableRowWise, {{1, 0, 0, 5, 16}, {0, 5, 0, 5, 16}})
                .find("rows 0 to 5: expected them on rank 0, got 1"),
            std::string::npos);
  EXPECT_NE(
      Refusal(T::kGridShard, {{0, 0, 0, 5, 8}, {1, 5, 0, 5, 8}, {2, 0, 8, 4, 8}, {3, 4, 8, 6, 8}})
          .find("expected the same blocks of rows for all columns, got rank 0: rows 0 to 5, "
                "columns 0 to 8, and rank 2: rows 0 to 4, columns 8 to 16"),
      std::string::npos);
  EXPECT_NE(Refusal(T::kDataParallel, {{0, 0, 0, 10, 16}}).find("on each of 4 ranks, got 1 shards"),
            std::string::npos);
  EXPECT_NE(Refusal(T::kDataParallel, std::vector<Shard>(4, {0, 0, 0, 10, 16}))
                .find("shard 1: expected all of it on rank 1"),
            std::string::npos);
}

TEST(ShardingPlan, TablesAndRanksFitTheModel) {
  ShardingPlan plan = PlanOf(ShardingType::kTableWise, {{0, 0, 0, 10, 16}});
  const std::vector<TableShape> two = {{"t0", 10, 16}, {"t1", 1, 1}};
  EXPECT_EQ(ErrorOf([&] { CheckPlan(plan, two); }), "plan: table t1 is missing");
  EXPECT_EQ(ErrorOf([&] { CheckPlan(plan, {}); }), "plan: there is no table t0");
  plan.local_size = 3;
  EXPECT_EQ(ErrorOf([&] { CheckPlan(plan, kTables); }),
            "plan: expected a local_size that divides world_size 4, got 3");
  plan.world_size = 0;
  EXPECT_EQ(ErrorOf([&] { CheckPlan(plan, kTables); }),
            "plan: expected a world_size above 0, got 0");
}

TEST(ShardingPlan, SortShardsMakesTheOrder) {
  TableSharding sharding{
      .type = ShardingType::kGridShard,
      .shards = {{1, 5, 4, 5, 12}, {0, 0, 4, 5, 12}, {3, 5, 0, 5, 4}, {2, 0, 0, 5, 4}}};
  SortShards(sharding);
  EXPECT_EQ(Refusal(sharding.type, sharding.shards), "");
}

TEST(ShardingPlan, PrintsTwoTables) {
  const std::vector<TableShape> tables = {{"items", 10, 16}, {"users", 6, 4}};
  const ShardingPlan plan = MakeShardingPlan(
      {.world_size = 2, .local_size = 2}, tables,
      {{"items", RowWise()}, {"users", WithKernel(TableWise(1), ComputeKernel::kFusedUvm)}});
  EXPECT_EQ(ToString(plan),
            "2 ranks, 2 a node\n"
            "\n"
            "param | sharding type | compute kernel | ranks\n"
            "----- | ------------- | -------------- | ------\n"
            "items | row_wise      | fused          | [0, 1]\n"
            "users | table_wise    | fused_uvm      | [1]\n"
            "\n"
            "param | shard offsets | shard sizes | placement\n"
            "----- | ------------- | ----------- | ---------\n"
            "items | [0, 0]        | [5, 16]     | rank:0\n"
            "items | [5, 0]        | [5, 16]     | rank:1\n"
            "users | [0, 0]        | [6, 4]      | rank:1\n");
}

}  // namespace
}  // namespace tessera
