#include "train/config/tables_json.h"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/size_limits.h"
#include "train/config/managed_collision_json.h"
#include "train/config/number_json.h"
#include "train/config/rule_json.h"

namespace tessera::internal {
namespace {

void ReadInitRange(JsonObject& object, EmbeddingBagConfig& table) {
  const Json* value = object.Find("init_range", ListSchema(TypeSchema(double{}), 2, 2));
  if (value == nullptr) return;
  std::vector<float> range;
  ReadJson(*value, object.at("init_range"), range);
  if (range.size() != 2 || range[0] > range[1])
    ThrowExpected(object.at("init_range"), "[low, high]", *value);
  table.init_range = {range[0], range[1]};
}

void ReadCache(const Json& json, const std::string& where, JsonProblems* problems,
               CacheConfig& config) {
  JsonObject cache(json, where, problems);
  cache.Try([&] {
    cache.OptionalWord("policy", config.policy, {CachePolicy::kLru, CachePolicy::kLfu});
  });
  cache.Try([&] {
    int64_t ways = config.ways;
    cache.OptionalPositive("ways", ways, SizeLimits::kWays);
    config.ways = static_cast<int>(ways);
  });
  cache.Try([&] { cache.Optional("load_factor", config.load_factor); });
  cache.Try([&] { cache.Optional("bytes", config.bytes); });
  cache.Try([&] { cache.Optional("scratch_rows", config.scratch_rows); });
  cache.Try([&] { cache.Optional("folder", config.folder); });
  cache.Finish();
  if (cache.describes() || problems->In(where)) return;
  try {
    CheckCacheConfig(config);
  } catch (const Error& error) {
    throw Error(Format("{}: {}", where, error.what()));
  }
}

void ReadPlacement(JsonObject& object, EmbeddingBagConfig& table) {
  using Location = EmbeddingLocation;
  const bool good = object.Try([&] {
    object.OptionalWord("location", table.location,
                        {Location::kDevice, Location::kHost, Location::kManaged,
                         Location::kManagedCaching, Location::kDisk});
  });
  object.Part("cache", JsonNeed::kOptional,
              [&](const auto&... cache) { ReadCache(cache..., table.cache); });
  object.Try([&] {
    if (good && object.Has("cache") && !IsCached(table.location))
      throw Error(Format("{}: only a table whose location is MANAGED_CACHING or DISK has a cache",
                         object.at("cache")));
  });
}

// The table's own, else that of the document.
void ReadManagedCollision(JsonObject& object, const EmbeddingBagConfig& table,
                          const std::optional<ManagedTableConfig>& of_all,
                          ManagedTableConfigs& configs) {
  const std::string where = object.at("managed_collision");
  const std::string of_table = where.substr(0, where.rfind('.'));
  std::optional<ManagedTableConfig> config = of_all;
  object.Part("managed_collision", JsonNeed::kOptional,
              [&](const auto&... own) { config = ManagedCollisionFromJson(own...); });
  if (!config || object.describes()) return;
  if (object.problems()->In(of_table)) return;
  CheckManagedTable(*config, table, where);
  configs.insert_or_assign(table.name, *config);
}

void ReadSizes(JsonObject& object, const std::string& where, EmbeddingBagConfig& table) {
  object.Try([&] {
    object.Required("name", table.name);
    object.Note("name", {{"minLength", 1}});
    if (table.name.empty())
      throw Error(Format("{}: expected a name that is not empty", object.at("name")));
  });
  const bool rows = object.Try([&] { object.Required("rows", table.num_embeddings); });
  const bool dim = object.Try([&] { object.Required("dim", table.embedding_dim); });
  object.Note("rows", Within(1, SizeLimits::kRows));
  object.Note("dim", Within(1, SizeLimits::kDim));
  if (!rows || !dim) return;
  object.Try([&] {
    CheckTableSize(table.num_embeddings, table.embedding_dim,
                   Format("{} ('{}')", where, table.name));
  });
}

void ReadFeatures(JsonObject& object, EmbeddingBagConfig& table) {
  object.Try([&] {
    object.OptionalWord("pooling", table.pooling, {PoolingType::kSum, PoolingType::kMean});
  });
  object.Try([&] {
    object.Required("features", table.feature_names);
    object.Note("features", {{"minItems", 1}});
    if (table.feature_names.empty())
      throw Error(Format("{}: expected at least one feature", object.at("features")));
  });
}

void ReadNumbers(JsonObject& object, EmbeddingBagConfig& table) {
  for (const auto& [key, type] :
       {std::pair{"dtype", &table.data_type}, {"state_dtype", &table.state_type}})
    object.Try([&, key = key, type = type] {
      object.OptionalWord(key, *type, {DType::kF32, DType::kF16, DType::kBF16});
    });
  object.Try([&] { object.Optional("stochastic_rounding", table.stochastic_rounding); });
  ReadPlacement(object, table);
  object.Try([&] { ReadInitRange(object, table); });
}

void ReadTable(const Json& json, const std::string& where, JsonProblems* problems,
               const std::optional<ManagedTableConfig>& managed_collision, TrainConfig& config) {
  JsonObject object(json, where, problems);
  EmbeddingBagConfig& table = config.tables.emplace_back();
  ReadSizes(object, where, table);
  ReadFeatures(object, table);
  ReadNumbers(object, table);
  table.optimizer = config.sparse_optimizer;
  object.Part("optimizer", JsonNeed::kOptional,
              [&](const auto&... rule) { table.optimizer = RuleFromJson(rule...); });
  object.Try(
      [&] { ReadManagedCollision(object, table, managed_collision, config.managed_collision); });
  object.Finish();
}

// Two tables that read one feature read the same numbers.
void CheckReaders(const std::string& feature, const EmbeddingBagConfig& first,
                  const EmbeddingBagConfig& second, const ManagedTableConfigs& managed) {
  if (first.name == second.name)
    throw Error(Format("tables: feature '{}' is there twice in '{}'", feature, first.name));
  if (first.num_embeddings != second.num_embeddings)
    throw Error(
        Format("tables: feature '{}' is read by '{}', of {} rows, and by '{}', of {}: its ids are "
               "taken modulo the rows, so expected as many",
               feature, first.name, first.num_embeddings, second.name, second.num_embeddings));
  for (const EmbeddingBagConfig* table : {&first, &second})
    if (managed.contains(table->name))
      throw Error(
          Format("tables: feature '{}' is read by '{}' and by '{}', but '{}' has "
                 "managed_collision: its ids can become the rows of one only",
                 feature, first.name, second.name, table->name));
}

// Names are unique, and tables that share a feature fit each other.
void CheckNames(const std::vector<EmbeddingBagConfig>& tables, const ManagedTableConfigs& managed) {
  std::set<std::string> names;
  std::map<std::string, const EmbeddingBagConfig*> reader_of;
  for (const EmbeddingBagConfig& table : tables) {
    if (!names.insert(table.name).second)
      throw Error(Format("tables: two are called '{}'", table.name));
    for (const std::string& feature : table.feature_names) {
      const auto [entry, is_new] = reader_of.emplace(feature, &table);
      if (!is_new) CheckReaders(feature, *entry->second, table, managed);
    }
  }
}

}  // namespace

void ReadTables(JsonObject& document, TrainConfig& config) {
  std::optional<ManagedTableConfig> managed_collision;
  document.Part("managed_collision", JsonNeed::kOptional, [&](const auto&... managed) {
    managed_collision = ManagedCollisionFromJson(managed...);
  });
  const bool good =
      document.Parts("tables", JsonNeed::kRequired, 1, "a list of at least one table",
                     [&](const auto&... table) { ReadTable(table..., managed_collision, config); });
  if (good && !document.describes() && !document.problems()->In("tables"))
    CheckNames(config.tables, config.managed_collision);
}

Json TableToJson(const EmbeddingBagConfig& table, const ManagedTableConfigs& managed) {
  Json json = {{"name", table.name},
               {"rows", table.num_embeddings},
               {"dim", table.embedding_dim},
               {"pooling", ToString(table.pooling)},
               {"features", table.feature_names},
               {"dtype", ToString(table.data_type)},
               {"state_dtype", ToString(table.state_type)},
               {"stochastic_rounding", table.stochastic_rounding}};
  if (table.location != EmbeddingLocation::kDevice) json["location"] = ToString(table.location);
  if (IsCached(table.location))
    json["cache"] = {{"policy", ToString(table.cache.policy)},
                     {"ways", table.cache.ways},
                     {"load_factor", table.cache.load_factor},
                     {"bytes", table.cache.bytes},
                     {"scratch_rows", table.cache.scratch_rows}};
  if (table.location == EmbeddingLocation::kDisk && !table.cache.folder.empty())
    json["cache"]["folder"] = table.cache.folder;
  if (table.init_range)
    json["init_range"] = {ShortestDouble(table.init_range->first),
                          ShortestDouble(table.init_range->second)};
  if (const auto own = managed.find(table.name); own != managed.end())
    json["managed_collision"] = ManagedCollisionToJson(own->second);
  json["optimizer"] = RuleToJson(table.optimizer);
  return json;
}

}  // namespace tessera::internal
