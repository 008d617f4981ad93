#include "sharding/plan/torchrec_plan.h"

#include <gtest/gtest.h>

#include "sharding/plan/plan_json.h"
#include "tests/train/testing/files.h"

namespace tessera {
namespace {

using testing::ErrorOf;
using testing::WriteFile;

const std::vector<TableShape> kTables = {{"large", 4096, 64}, {"small", 5, 8}, {"wide", 6, 256}};
constexpr RankLayout kLayout{.world_size = 2, .local_size = 2};

// A plan as TorchRec prints it, the heading's words in the middle, with lines of a log round it.
constexpr char kText[] = R"(INFO rank:0 Sharding Plan generated: module: sparse.ebc

    param     | sharding type | compute kernel | ranks
------------- | ------------- | -------------- | ------
large         | row_wise      | fused          | [0, 1]
small         | data_parallel | dense          | [0, 1]

    param     | shard offsets | shard sizes |   placement
------------- | ------------- | ----------- | -------------
large         | [0, 0]        | [2048, 64]  | rank:0/cuda:0
large         | [2048, 0]     | [2048, 64]  | rank:1/cuda:1

module: dense.ec

param | sharding type | compute kernel    | ranks
----- | ------------- | ----------------- | ------
wide  | column_wise   | fused_uvm_caching | [1, 0]

param | shard offsets | shard sizes |   placement
----- | ------------- | ----------- | -------------
wide  | [0, 0]        | [6, 128]    | rank:1/cuda:1
wide  | [0, 128]      | [6, 128]    | rank:0/cuda:0

INFO done | 3 tables | in 2 s | ok
)";

ShardingPlan Expected() {
  return MakeShardingPlan(
      kLayout, kTables,
      {{"large", RowWise()},
       {"small", DataParallel()},
       {"wide", WithKernel(ColumnWise({1, 0}), ComputeKernel::kFusedUvmCaching)}});
}

std::string With(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(TorchRecPlan, TextIsRead) {
  EXPECT_EQ(ParseTorchRecPlan(kText, "x", kLayout, kTables), Expected());
}

TEST(TorchRecPlan, OurOwnTextIsRead) {
  EXPECT_EQ(ParseTorchRecPlan(ToString(Expected()), "x", kLayout, kTables), Expected());
}

TEST(TorchRecPlan, ErrorsOfTextNameTheLine) {
  const auto error = [&](const std::string& from, const std::string& to) {
    return ErrorOf([&] { ParseTorchRecPlan(With(kText, from, to), "plan.txt", kLayout, kTables); });
  };
  EXPECT_NE(error("row_wise ", "rows     ").find("plan.txt: line 5: sharding type 'rows'"),
            std::string::npos);
  EXPECT_NE(error("| fused  ", "| quant  ").find("line 5: compute kernel 'quant'"),
            std::string::npos);
  EXPECT_EQ(error("[0, 1]", "[0, x]"),
            "plan.txt: line 5: expected a list of numbers like [0, 1], got '[0, x]'");
  EXPECT_EQ(error("[2048, 0] ", "[2048]    "),
            "plan.txt: line 11: expected a list of numbers like [0, 1], got '[2048]'");
  EXPECT_EQ(error("wide  |", "large |"),
            "plan.txt: line 17: table large is in it twice (in two modules?)");
  EXPECT_EQ(error("large         | [0", "larger        | [0"),
            "plan.txt: line 10: a shard of larger, which is not among the tables above");
  EXPECT_EQ(error("[2048, 0] ", "[2047, 0] "),
            "plan.txt: plan: table large (row_wise): overlap: rank 0: rows 0 to 2048, columns 0 to "
            "64, and rank 1: rows 2047 to 4095, columns 0 to 64");
  EXPECT_EQ(ErrorOf([] { ParseTorchRecPlan("hello", "x", kLayout, kTables); }),
            "x: there is no table in it: is it a plan?");
  EXPECT_NE(ErrorOf([] {
              ParseTorchRecPlan(kText, "x", {.world_size = 4, .local_size = 4}, kTables);
            }).find("x: table small (data_parallel): expected 4 ranks, got 2"),
            std::string::npos);
}

constexpr char kJson[] = R"({"sparse.ebc": {
  "large": {"sharding_type": "row_wise", "compute_kernel": "fused", "ranks": [0, 1], "shards": [
      {"shard_offsets": [0, 0], "shard_sizes": [2048, 64], "placement": "rank:0/cuda:0"},
      {"shard_offsets": [2048, 0], "shard_sizes": [2048, 64], "placement": "rank:1/cuda:1"}]},
  "small": {"sharding_type": "data_parallel", "compute_kernel": "dense", "ranks": [0, 1]}},
 "dense.ec": {
  "wide": {"sharding_type": "column_wise", "compute_kernel": "fused_uvm_caching", "ranks": [1, 0],
           "cache_params": null, "sharding_spec": {"shards": [
      {"shard_offsets": [0, 0], "shard_sizes": [6, 128], "placement": null},
      {"shard_offsets": [0, 128], "shard_sizes": [6, 128]}]}}}})";

TEST(TorchRecPlan, JsonIsRead) {
  EXPECT_EQ(ParseTorchRecPlan(kJson, "x", kLayout, kTables), Expected());
  EXPECT_EQ(ParseTorchRecPlan("{\"plan\": " + std::string(kJson) + "}", "x", kLayout, kTables),
            Expected());
}

TEST(TorchRecPlan, JsonOfOneModuleIsRead) {
  const std::vector<TableShape> one = {{"small", 5, 8}};
  const ShardingPlan plan = ParseTorchRecPlan(
      R"({"small": {"sharding_type": "table_wise", "compute_kernel": "fused", "ranks": [1],
                    "shards": [{"shard_offsets": [0, 0], "shard_sizes": [5, 8],
                                "placement": "rank:1/cpu"}]}})",
      "x", kLayout, one);
  EXPECT_EQ(plan, MakeShardingPlan(kLayout, one, TableWise(1)));
}

TEST(TorchRecPlan, ErrorsOfJsonNameTheField) {
  const auto error = [&](const std::string& from, const std::string& to) {
    return ErrorOf(
        [&] { ParseTorchRecPlan(With(kJson, from, to), "plan.json", kLayout, kTables); });
  };
  EXPECT_EQ(error("\"shard_sizes\": [2048, 64]", "\"shard_sizes\": 2048"),
            "plan.json: sparse.ebc.large.shards[0].shard_sizes: expected a list, got 2048");
  EXPECT_EQ(error("\"compute_kernel\": \"fused\", ", ""),
            "plan.json: sparse.ebc.large.compute_kernel: the key is missing");
  EXPECT_EQ(error("rank:1/cuda:1", "rank:x"),
            "plan.json: sparse.ebc.large.shards[1].placement: expected a placement like "
            "rank:0/cuda:0, got 'rank:x'");
  EXPECT_NE(error("row_wise", "rows")
                .find("plan.json: sparse.ebc.large.sharding_type: sharding type 'rows'"),
            std::string::npos);
  EXPECT_NE(error("fused_uvm_caching", "quant")
                .find("plan.json: dense.ec.wide.compute_kernel: compute kernel 'quant'"),
            std::string::npos);
}

TEST(PlanFile, IsOfEitherKind) {
  const std::string own = WriteFile("own.json", PlanToJson(Expected())),
                    text = WriteFile("plan.txt", kText), json = WriteFile("plan.json", kJson);
  for (const std::string& path : {own, text, json})
    EXPECT_EQ(ReadPlanFile(path, kLayout, kTables), Expected()) << path;
  EXPECT_EQ(ErrorOf([&] { ReadPlanFile(own, {.world_size = 4, .local_size = 2}, kTables); }),
            own + ": it is for 2 ranks, 2 a node; here are 4, 2 a node");
  EXPECT_EQ(ErrorOf([&] { ReadPlanFile(own, kLayout, {}); }),
            own + ": plan: there is no table large");
  const std::string machine = WriteFile("topology.json", R"({"tessera_topology": 1})");
  EXPECT_EQ(ErrorOf([&] { ReadPlanFile(machine, kLayout, kTables); }),
            machine +
                ": it is a file of \"tessera_topology\": expected a plan, one that tessera "
                "plan -o wrote (\"tessera_sharding_plan\") or one of TorchRec");
  EXPECT_EQ(ErrorOf([] { ReadPlanFile("/nowhere", kLayout, {}); }),
            "/nowhere: cannot be read: No such file or directory");
}

}  // namespace
}  // namespace tessera
