#include "sharding/plan_json.h"

#include <limits>
#include <optional>

#include "sharding/plan_json_impl.h"

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
  if (value < 0 || value > std::numeric_limits<int>::max())
    throw Error(
        Format("{}: expected a number that is not negative, got {}", object.at(key), value));
  return static_cast<int>(value);
}

void ReadPair(JsonObject& object, const char* key, int64_t& first, int64_t& second) {
  std::vector<int64_t> pair;
  object.Required(key, pair);
  if (pair.size() != 2) ThrowExpected(object.at(key), "[rows, columns]", *object.Find(key));
  first = pair[0];
  second = pair[1];
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

// One of a few names, by `parse`, whose error gets the place.
template <typename T>
void ReadName(const std::string& text, const std::string& where, T (*parse)(const std::string&),
              T& out) {
  try {
    out = parse(text);
  } catch (const Error& error) {
    throw Error(Format("{}: {}", where, error.what()));
  }
}

TableSharding ShardingOf(const Json& value, const std::string& where) {
  JsonObject object(value, where);
  TableSharding sharding;
  std::string type, kernel = ToString(sharding.kernel);
  object.Required("sharding_type", type);
  object.Optional("compute_kernel", kernel);
  ReadName(type, object.at("sharding_type"), ParseShardingType, sharding.type);
  ReadName(kernel, object.at("compute_kernel"), ParseComputeKernel, sharding.kernel);
  const Json& shards = object.Require("shards");
  if (!shards.is_array()) ThrowExpected(object.at("shards"), "a list", shards);
  for (size_t i = 0; i < shards.size(); ++i)
    AddShard(shards[i], Format("{}[{}]", object.at("shards"), i), sharding);
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

void CheckVersion(JsonObject& object) {
  int64_t version = 0;
  object.Required(kVersionKey, version);
  if (version != kVersion)
    throw Error(Format("{}: this library reads version {}, got {}", object.at(kVersionKey),
                       kVersion, version));
}

}  // namespace

Shard ShardAt(JsonObject& object) {
  Shard shard;
  shard.rank = ReadInt(object, "rank");
  ReadPair(object, "offset", shard.row_offset, shard.column_offset);
  ReadPair(object, "size", shard.rows, shard.columns);
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
  CheckVersion(object);
  ShardingPlan plan;
  plan.world_size = ReadInt(object, "world_size");
  plan.local_size = ReadInt(object, "local_size", plan.world_size);
  const Json& tables = object.Require("tables");
  if (!tables.is_object()) ThrowExpected(object.at("tables"), "an object {…}", tables);
  for (const auto& [name, table] : tables.items())
    plan.tables[name] = ShardingOf(table, Format("{}.{}", object.at("tables"), name));
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
  try {
    return internal::PlanOf(internal::ParseJson(text), "");
  } catch (const Error& error) {
    throw Error(Format("{}: {}", where, error.what()));
  }
}

std::string PlanHash(const ShardingPlan& plan) {
  uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (const char c : internal::PlanJson(plan).dump())
    hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3;
  return Format("{:016x}", hash);
}

}  // namespace tessera
