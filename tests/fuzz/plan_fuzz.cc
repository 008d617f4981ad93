// A sharding plan: ours as JSON, TorchRec's as JSON or as it prints one.
#include "sharding/plan/plan_json.h"
#include "sharding/plan/plan_makers.h"
#include "sharding/plan/torchrec_plan.h"
#include "tests/fuzz/fuzz.h"

namespace tessera::fuzz {
namespace {

constexpr RankLayout kLayout{.world_size = 4, .local_size = 2};

const std::vector<TableShape>& Tables() {
  static const std::vector<TableShape> tables = {
      {"t0", 10, 16}, {"t1", 7, 8}, {"t2", 100, 32}, {"t3", 5, 8}};
  return tables;
}

}  // namespace

std::vector<std::string> Seeds() {
  const ShardingPlan plan = MakeShardingPlan(kLayout, Tables(),
                                             {{"t0", RowWise()},
                                              {"t1", TableWise(3)},
                                              {"t2", ColumnWise({0, 1})},
                                              {"t3", DataParallel()}});
  const std::string torchrec_json = R"({"ebc": {
    "t0": {"sharding_type": "row_wise", "compute_kernel": "fused", "ranks": [0, 1, 2, 3], "shards": [
      {"shard_offsets": [0, 0], "shard_sizes": [3, 16], "placement": "rank:0/cpu"},
      {"shard_offsets": [3, 0], "shard_sizes": [3, 16], "placement": "rank:1/cpu"},
      {"shard_offsets": [6, 0], "shard_sizes": [3, 16], "placement": "rank:2/cpu"},
      {"shard_offsets": [9, 0], "shard_sizes": [1, 16], "placement": "rank:3/cpu"}]},
    "t1": {"sharding_type": "table_wise", "compute_kernel": "fused", "ranks": [3], "shards": [
      {"shard_offsets": [0, 0], "shard_sizes": [7, 8], "placement": "rank:3/cpu"}]},
    "t3": {"sharding_type": "data_parallel", "compute_kernel": "dense", "ranks": [0, 1, 2, 3], "shards": null}}})";
  return {PlanToJson(plan), "module: ebc\n\n" + ToString(plan), torchrec_json};
}

}  // namespace tessera::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tessera;
  const std::string text(fuzz::AsText(data, size));
  fuzz::MayRefuse([&] {
    const ShardingPlan plan = PlanFromJson(text, "input");
    CheckPlan(plan, fuzz::Tables());
    if (PlanFromJson(PlanToJson(plan), "again") != plan) __builtin_trap();
  });
  fuzz::MayRefuse([&] { ParseTorchRecPlan(text, "input", fuzz::kLayout, fuzz::Tables()); });
  return 0;
}
