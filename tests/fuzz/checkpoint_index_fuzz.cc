// The index of a sharded checkpoint: an index that is read is written and read again.
#include "sharding/checkpoint/checkpoint_index.h"
#include "sharding/plan/plan_makers.h"
#include "tests/fuzz/fuzz.h"

namespace tessera::fuzz {

std::vector<std::string> Seeds() {
  CheckpointIndex index;
  index.save = 7;
  const std::vector<TableShape> tables = {{"t0", 10, 16}, {"t1", 7, 8}};
  index.info.plan = MakeShardingPlan({2, 2}, tables, {{"t0", RowWise()}, {"t1", TableWise(1)}});
  index.info.tables = {{tables[0], "p.t0.weight", "adam", 5, 1}, {tables[1], "p.t1.weight", "sgd"}};
  index.info.metadata = {{"epoch", "1"}, {"config", "{}"}};
  index.files = {{"save-7-rank-0.safetensors", 1000}, {"save-7-rank-1.safetensors", 2000}};
  for (const auto& [name, sharding] : index.info.plan.tables) {
    StoredTable& stored = index.tables[name];
    stored.states = {{"momentum1", DType::kF32, true}};
    for (const Shard& shard : sharding.shards)
      stored.shards.push_back({.file = shard.rank,
                               .shard = shard,
                               .checksums = {{"weight", "0123abcd"}, {"momentum1", "00000000"}}});
  }
  index.tables["t1"].shards[0].started = {{.low = -1, .high = 1, .seed = 5}, {{0, 1}, {3, 7}}};
  index.whole["dense.weight"] = {.file = 0, .checksums = "01234567"};
  const std::string sealed = IndexToJson(index);
  return {sealed, sealed.substr(0, sealed.rfind(",\n \"crc32\"")) + "\n}"};
}

}  // namespace tessera::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tessera;
  std::string again;
  fuzz::MayRefuse(
      [&] { again = IndexToJson(IndexFromJson(std::string(fuzz::AsText(data, size)), "input")); });
  if (!again.empty() && IndexToJson(IndexFromJson(again, "again")) != again) __builtin_trap();
  return 0;
}
