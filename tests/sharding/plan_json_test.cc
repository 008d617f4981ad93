#include "sharding/plan/plan_json.h"

#include <gtest/gtest.h>

#include "sharding/plan/plan_makers.h"
#include "tests/train/testing/files.h"

namespace tessera {
namespace {

using testing::ErrorOf;

ShardingPlan MixedPlan() {
  const std::vector<TableShape> tables = {
      {"dp", 7, 3}, {"tw", 7, 3}, {"rw \"quoted\"", 3, 8}, {"grid", 5, 32}};
  return MakeShardingPlan({.world_size = 4, .local_size = 2}, tables,
                          {{"dp", DataParallel()},
                           {"tw", WithKernel(TableWise(2), ComputeKernel::kFusedUvmCaching)},
                           {"rw \"quoted\"", RowWise()},
                           {"grid", GridShard({1, 0}, 16)}});
}

TEST(PlanJson, ComesBackAsItWent) {
  const ShardingPlan plan = MixedPlan();
  EXPECT_EQ(PlanFromJson(PlanToJson(plan), "x"), plan);
  EXPECT_EQ(PlanFromJson(PlanToJson(ShardingPlan{}), "x"), ShardingPlan{});
}

TEST(PlanJson, IsATableALine) {
  const ShardingPlan plan = MakeShardingPlan({.world_size = 2, .local_size = 2},
                                             std::vector<TableShape>{{"t", 4, 8}}, TableWise(1));
  EXPECT_EQ(PlanToJson(plan),
            "{\n"
            "  \"tessera_sharding_plan\": 1,\n"
            "  \"world_size\": 2,\n"
            "  \"local_size\": 2,\n"
            "  \"tables\": {\n"
            "    \"t\": {\"sharding_type\":\"table_wise\",\"compute_kernel\":\"fused\",\"shards\":"
            "[{\"rank\":1,\"offset\":[0,0],\"size\":[4,8]}]}\n"
            "  }\n"
            "}\n");
}

TEST(PlanJson, WhatMayBeLeftOutHasItsDefault) {
  const ShardingPlan plan = PlanFromJson(
      R"({"tessera_sharding_plan": 1, "world_size": 2, "tables": {"t": {"sharding_type":
          "column_wise", "shards": [{"rank": 1, "offset": [0, 4], "size": [4, 4]},
                                    {"rank": 0, "offset": [0, 0], "size": [4, 4]}]}}})",
      "x");
  EXPECT_EQ(plan.local_size, 2);
  EXPECT_EQ(plan.tables.at("t").kernel, ComputeKernel::kFused);
  EXPECT_EQ(plan.tables.at("t").shards[0].rank, 0) << "shards are put into order";
}

TEST(PlanJson, ErrorsNameTheField) {
  const std::string sound = PlanToJson(MixedPlan());
  const auto error = [&](const std::string& from, const std::string& to) {
    std::string text = sound;
    const size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
    return ErrorOf([&] { PlanFromJson(text, "plan.json"); });
  };
  EXPECT_EQ(error("sharding_plan\": 1", "sharding_plan\": 2"),
            "plan.json: tessera_sharding_plan: this library reads version 1, got 2");
  EXPECT_EQ(error("\"tessera_sharding_plan\": 1,", ""),
            "plan.json: tessera_sharding_plan: the key is missing");
  EXPECT_EQ(error("\"world_size\": 4", "\"world_size\": -4"),
            "plan.json: world_size: expected an integer from 0 to 2147483647, got -4");
  EXPECT_EQ(error("\"rank\":1", "\"rank\":4294967298"),
            "plan.json: tables.dp.shards[1].rank: expected an integer from 0 to 2147483647, got "
            "4294967298");
  EXPECT_EQ(error("\"grid_shard\"", "\"grid\""),
            "plan.json: tables.grid.sharding_type: sharding type 'grid': expected data_parallel, "
            "table_wise, column_wise, row_wise, table_row_wise, table_column_wise or grid_shard");
  EXPECT_EQ(error("\"offset\":[0,0]", "\"offset\":[0]"),
            "plan.json: tables.dp.shards[0].offset: expected [row, column], got [0]");
  EXPECT_EQ(error("\"rank\":1", "\"rang\":1"),
            "plan.json: tables.dp.shards[1].rank: the key is missing");
  EXPECT_EQ(error("\"local_size\": 2,", "\"local_size\": 2, \"hosts\": 2,"),
            "plan.json: hosts: unknown key; known here: tessera_sharding_plan, world_size, "
            "local_size, tables");
  EXPECT_NE(error("{", "").find("plan.json: parse error at line"), std::string::npos);
}

TEST(PlanLines, NameTheShardOfATable) {
  ShardingPlan plan{.world_size = 2, .local_size = 2, .tables = {}};
  plan.tables["a"] = {.type = ShardingType::kTableWise,
                      .shards = {{.rank = 0, .rows = 4, .columns = 2}}};
  ShardingPlan other = plan;
  EXPECT_EQ(PlanLines(plan).find("2 ranks, 2 a node\ntable a: table_wise, fused, "), 0u);
  other.tables["a"].shards[0].rank = 1;
  EXPECT_NE(PlanLines(plan), PlanLines(other));
}

TEST(PlanLines, AreTheSameForEqualPlansAlone) {
  const ShardingPlan plan = MixedPlan();
  EXPECT_EQ(PlanLines(plan), PlanLines(PlanFromJson(PlanToJson(plan), "x")));
  ShardingPlan other = plan;
  other.tables["tw"].shards[0].rank = 3;
  EXPECT_NE(PlanLines(plan), PlanLines(other));
  other = plan;
  other.local_size = 4;
  EXPECT_NE(PlanLines(plan), PlanLines(other));
}

}  // namespace
}  // namespace tessera
