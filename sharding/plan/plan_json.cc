#include "sharding/plan/plan_json.h"

#include <optional>

#include "runtime/json/json_fields.h"
#include "sharding/plan/plan_json_impl.h"

namespace tessera {
namespace internal {
namespace {

constexpr char kVersionKey[] = "tessera_sharding_plan";
constexpr int64_t kVersion = 1;

int ReadInt(JsonObject& object, const char* key, std::optional<int> otherwise = {}) {
  int64_t value = otherwise.value_or(0);
  if (otherwise)
    object.Optional(key, value);
  else
    object.Required(key, value);
  return CountOf(value, object.at(key));
}

void AddShard(const Json& value, const std::string& where, TableSharding& sharding) {
  JsonObject object(value, where);
  sharding.shards.push_back(ShardAt(object));
  object.Finish();
}

Json ShardJson(const Shard& s) {
  return {
      {"rank", s.rank}, {"offset", {s.row_offset, s.column_offset}}, {"size", {s.rows, s.columns}}};
}

TableSharding ParseSharding(const Json& value, const std::string& where) {
  JsonObject object(value, where);
  TableSharding sharding;
  sharding.type = RequiredWord(object, "sharding_type", ParseShardingType);
  ReadWord(object, "compute_kernel", ParseComputeKernel, sharding.kernel);
  ForEachElement(object, "shards", [&](const Json& shard, const std::string& place) {
    AddShard(shard, place, sharding);
  });
  object.Finish();
  SortShards(sharding);
  return sharding;
}

Json ShardingJson(const TableSharding& sharding) {
  Json shards = Json::array();
  for (const Shard& shard : sharding.shards) shards.push_back(ShardJson(shard));
  return {{"sharding_type", ToString(sharding.type)},
          {"compute_kernel", ToString(sharding.kernel)},
          {"shards", std::move(shards)}};
}

}  // namespace

Shard ShardAt(JsonObject& object) {
  Shard shard;
  shard.rank = ReadInt(object, "rank");
  const auto offset = RequiredPair<int64_t>(object, "offset", "[row, column]"),
             size = RequiredPair<int64_t>(object, "size", "[rows, columns]");
  shard.row_offset = offset[0];
  shard.column_offset = offset[1];
  shard.rows = size[0];
  shard.columns = size[1];
  return shard;
}

Json PlanJson(const ShardingPlan& plan) {
  Json tables = Json::object();
  for (const auto& [name, sharding] : plan.tables) tables[name] = ShardingJson(sharding);
  return {{kVersionKey, kVersion},
          {"world_size", plan.world_size},
          {"local_size", plan.local_size},
          {"tables", std::move(tables)}};
}

ShardingPlan PlanOf(const Json& value, const std::string& where) {
  JsonObject object(value, where);
  CheckVersion(object, kVersionKey, kVersion);
  ShardingPlan plan;
  plan.world_size = ReadInt(object, "world_size");
  plan.local_size = ReadInt(object, "local_size", plan.world_size);
  const Json& tables = object.Require("tables");
  if (!tables.is_object()) ThrowExpected(object.at("tables"), "an object {…}", tables);
  for (const auto& [name, table] : tables.items())
    plan.tables[name] = ParseSharding(table, Format("{}.{}", object.at("tables"), name));
  object.Finish();
  return plan;
}

}  // namespace internal

std::string PlanToJson(const ShardingPlan& plan) {
  const internal::Json json = internal::PlanJson(plan);
  std::string text = "{\n";
  for (const auto& [key, value] : json.items()) {
    if (key == "tables") continue;
    text += Format("  \"{}\": {},\n", key, value.dump());
  }
  text += "  \"tables\": {";
  const char* separator = "\n";
  for (const auto& [name, table] : json["tables"].items()) {
    text += Format("{}    {}: {}", separator, internal::Json(name).dump(), table.dump());
    separator = ",\n";
  }
  return text + "\n  }\n}\n";
}

ShardingPlan PlanFromJson(const std::string& text, const std::string& where) {
  return internal::ReadDocument(
      text, where, [](const internal::Json& document) { return internal::PlanOf(document, ""); });
}

std::string PlanLines(const ShardingPlan& plan) {
  std::string lines = Format("{} ranks, {} a node\n", plan.world_size, plan.local_size);
  for (const auto& [name, table] : plan.tables)
    for (const Shard& shard : table.shards)
      lines += Format("table {}: {}, {}, {}\n", name, table.type, table.kernel, shard);
  return lines;
}

}  // namespace tessera
