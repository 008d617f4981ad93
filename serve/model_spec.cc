#include "serve/model_spec.h"

#include <limits>
#include <set>

#include "runtime/base/names.h"
#include "runtime/base/size_limits.h"
#include "runtime/json/json_fields.h"
#include "runtime/json/json_reader.h"
#include "runtime/json/json_seal.h"
#include "train/config/data_json.h"
#include "train/config/model_json.h"

namespace tessera::serve {
namespace {

using internal::Json;
using internal::JsonObject;

constexpr int64_t kFormat = 2;
constexpr int64_t kMaxVersion = int64_t{1} << 62;  // versions after it are counted up

constexpr const char* kRemapKinds[] = {"array", "hash"};
constexpr const char* kUnknownIds[] = {"default", "rows", "slots"};

void ReadRemap(JsonObject& object, TableSpec& table) {
  object.Optional("ids", table.ids);
  std::string remap;
  object.Optional("remap", remap);
  if (remap.empty() != (table.ids == 0))
    throw Error(Format("{}: expected ids and remap, or neither", object.at("remap")));
  if (remap.empty()) return;
  CheckPositive(table.ids, SizeLimits::kRows, object.at("ids"));
  if (table.rows > table.ids)
    throw Error(Format("{}: expected at most the {} ids, got {}", object.at("rows"), table.ids,
                       table.rows));
  table.remap = ParseRemapKind(remap);
}

void CheckNotNegative(int64_t value, const std::string& where) {
  if (value < 0)
    throw Error(Format("{}: expected a number that is not negative, got {}", where, value));
}

// Checks the rule of a part with so many rows.
void CheckRuleOfPart(const JsonObject& object, const RawIdRule& rule, int64_t rows) {
  if (rule.first_row < 0 || rule.num_rows < 1 || rule.num_rows > rows ||
      rule.first_row > rows - rule.num_rows)
    throw Error(Format("{}: rows {} to {}: the table has {}", object.at("first_row"),
                       rule.first_row, rule.first_row + rule.num_rows - 1, rows));
  if (rule.buckets < 1 || rows % rule.buckets != 0)
    throw Error(Format("{}: expected a divisor of the {} rows, got {}", object.at("buckets"), rows,
                       rule.buckets));
  if (rule.reserved < 0 || rule.reserved >= rows / rule.buckets)
    throw Error(Format("{}: expected less than the {} rows of a bucket, got {}",
                       object.at("reserved"), rows / rule.buckets, rule.reserved));
}

void CheckRule(const JsonObject& object, const RawIdRule& rule, int64_t rows) {
  if (rule.max_rows != 0 && (rule.max_rows < rows || rule.max_rows > SizeLimits::kRows))
    throw Error(Format("{}: expected at least the {} rows, at most {}, got {}",
                       object.at("max_rows"), rows, SizeLimits::kRows, rule.max_rows));
  CheckNotNegative(rule.hash_below, object.at("hash_below"));
  CheckNotNegative(rule.input_hash_size, object.at("input_hash_size"));
  if (rule.num_parts < 1 || rows % rule.num_parts != 0)
    throw Error(Format("{}: expected a divisor of the {} rows, got {}", object.at("num_parts"),
                       rows, rule.num_parts));
  if (rule.num_parts > 1 && !rule.interleaved && rule.max_rows > rows)
    throw Error(Format("{}: a table in parts that are not interleaved does not grow",
                       object.at("max_rows")));
  if (rule.hash_below > std::numeric_limits<int64_t>::max() / rule.num_parts)
    throw Error(Format("{}: {} for each of {} parts are more than numbers of 63 bits",
                       object.at("hash_below"), rule.hash_below, rule.num_parts));
  CheckRuleOfPart(object, rule, rows / rule.num_parts);
  if (rule.unknown == UnknownIds::kSlots && rule.max_rows > rows)
    throw Error(Format("{}: a table whose ids name slots does not grow", object.at("max_rows")));
}

RawIdRule ReadRawIds(const Json& json, int64_t rows, const std::string& where) {
  JsonObject object(json, where);
  RawIdRule rule;
  std::string unknown = UnknownIdsName(rule.unknown);
  object.Optional("unknown", unknown);
  rule.unknown =
      internal::ParseName<UnknownIds>(unknown, object.at("unknown").c_str(), kUnknownIds);
  object.Optional("max_rows", rule.max_rows);
  object.Optional("num_parts", rule.num_parts);
  object.Optional("interleaved", rule.interleaved);
  object.Optional("hash_below", rule.hash_below);
  object.Optional("first_row", rule.first_row);
  object.Optional("num_rows", rule.num_rows);
  object.Optional("buckets", rule.buckets);
  object.Optional("reserved", rule.reserved);
  object.Optional("input_hash_size", rule.input_hash_size);
  CheckRule(object, rule, rows);
  object.Finish();
  return rule;
}

Json RawIdsToJson(const RawIdRule& rule) {
  Json json = {{"max_rows", rule.max_rows},
               {"hash_below", rule.hash_below},
               {"unknown", UnknownIdsName(rule.unknown)}};
  if (rule.num_parts > 1) json["num_parts"] = rule.num_parts;
  if (rule.interleaved) json["interleaved"] = true;
  if (rule.unknown == UnknownIds::kRows) {
    json["first_row"] = rule.first_row;
    json["num_rows"] = rule.num_rows;
  }
  if (rule.unknown == UnknownIds::kSlots) {
    json["buckets"] = rule.buckets;
    json["reserved"] = rule.reserved;
    json["input_hash_size"] = rule.input_hash_size;
  }
  return json;
}

TableSpec ReadTable(const Json& json, const std::string& where) {
  JsonObject object(json, where);
  TableSpec table;
  object.Required("name", table.name);
  object.Required("rows", table.rows);
  object.Required("dim", table.dim);
  CheckTableSize(table.rows, table.dim, Format("{} ('{}')", where, table.name));
  object.Required("features", table.features);
  if (table.features.empty())
    throw Error(Format("{}: expected at least one feature", object.at("features")));
  object.OptionalWord("pooling", table.pooling, {PoolingType::kSum, PoolingType::kMean});
  std::string codec;
  object.Required("codec", codec);
  try {
    table.codec = ParseRowCodec(codec);
    RowBytes(table.codec, table.dim);
  } catch (const Error& error) {
    throw Error(Format("{}: {}", object.at("codec"), error.what()));
  }
  object.Optional("default_row", table.default_row);
  ReadRemap(object, table);
  if (const Json* raw_ids = object.Find("raw_ids"); raw_ids != nullptr) {
    table.raw_ids = ReadRawIds(*raw_ids, table.rows, object.at("raw_ids"));
    if (table.pruned()) throw Error(Format("{}: the table is pruned", object.at("raw_ids")));
  }
  object.Finish();
  return table;
}

void CheckTables(const ModelSpec& spec) {
  if (spec.tables.empty() && spec.net.dense_arch.empty())
    throw Error("tables: expected at least one");
  const int64_t dim =
      spec.net.dense_arch.empty() ? spec.tables.front().dim : spec.net.dense_arch.back();
  std::set<std::string> names;
  for (const TableSpec& table : spec.tables) {
    if (!names.insert(table.name).second)
      throw Error(Format("tables: {} is there twice", table.name));
    if (table.dim != dim && !TakesAnyDims(spec.net.type))
      throw Error(
          Format("tables: {}: expected dim {}, {}, got {}", table.name, dim,
                 spec.net.dense_arch.empty() ? "the first table's" : "the last size of dense_arch",
                 table.dim));
    std::set<std::string> features;
    for (const std::string& feature : table.features)
      if (!features.insert(feature).second)
        throw Error(Format("tables: {}: feature {} is there twice", table.name, feature));
  }
}

// Throws unless it is a plain name: a model has no files outside its directory.
void CheckFileName(const std::string& name, const std::string& where) {
  if (name.empty() || name.front() == '.' || name.find('/') != std::string::npos ||
      name.find('\0') != std::string::npos)
    throw Error(Format("{}: expected the name of a file beside it", where));
}

TrainedTo ReadTrained(const Json& json) {
  JsonObject object(json, "trained");
  TrainedTo trained;
  object.Required("seed", trained.seed);
  object.Required("step", trained.step);
  object.Finish();
  return trained;
}

ModelSpec ReadSpec(const Json& json) {
  JsonObject object(json, "");
  ModelSpec spec;
  int64_t format = 0;
  object.Required("tessera_model", format);
  if (format != kFormat)
    throw Error(Format("tessera_model: expected version {}, got {}", kFormat, format));
  internal::CheckSeal(json, object);
  object.Required("version", spec.version);
  if (spec.version < 0 || spec.version > kMaxVersion)
    throw Error(Format("version: expected 0 to {}, got {}", kMaxVersion, spec.version));
  object.Required("weights", spec.weights);
  CheckFileName(spec.weights, "weights");
  spec.net = internal::RankingNetFromJson(object.Require("model"), "model");
  object.OptionalWord("dense_type", spec.dense_type, {DType::kF32, DType::kF16});
  object.OptionalWord("missing", spec.missing, {MissingIds::kRow0, MissingIds::kEmptyBag});
  object.Optional("search", spec.search);
  if (const Json* trained = object.Find("trained")) spec.trained = ReadTrained(*trained);
  if (const Json* data = object.Find("data")) spec.data = internal::DataFromJson(*data, "data");
  internal::ForEachElement(object, "tables", [&](const Json& table, const std::string& where) {
    spec.tables.push_back(ReadTable(table, where));
  });
  object.Finish();
  CheckTables(spec);
  return spec;
}

}  // namespace

std::vector<std::string> ModelSpec::Features() const {
  std::vector<std::string> all;
  std::set<std::string> known;
  for (const std::string& feature : Reads())
    if (known.insert(feature).second) all.push_back(feature);
  return all;
}

std::vector<std::string> ModelSpec::Outputs() const {
  std::vector<std::string> names;
  for (const TaskConfig& task : net.tasks) names.push_back(task.name);
  return names.empty() ? std::vector<std::string>{kScoreOutput} : names;
}

std::vector<PooledFeature> ModelSpec::PooledFeatures() const {
  std::vector<PooledFeature> features;
  for (const TableSpec& table : tables)
    for (const std::string& feature : table.features)
      features.push_back({feature, table.dim, PositionsOf(net, feature)});
  return features;
}

std::vector<std::string> ModelSpec::Reads() const {
  std::vector<std::string> all;
  for (const TableSpec& table : tables)
    all.insert(all.end(), table.features.begin(), table.features.end());
  return all;
}

std::string RowsName(const TableSpec& table) { return "tables." + table.name; }
std::string RemapName(const TableSpec& table) { return "remap." + table.name; }
std::string IdsName(const TableSpec& table) { return "ids." + table.name; }

std::string RemapKindName(RemapKind kind) { return kRemapKinds[static_cast<size_t>(kind)]; }
RemapKind ParseRemapKind(const std::string& name) {
  return internal::ParseName<RemapKind>(name, "remap", kRemapKinds);
}

std::string UnknownIdsName(UnknownIds unknown) { return kUnknownIds[static_cast<size_t>(unknown)]; }

namespace {

Json MakeJson(const ModelSpec& spec) {
  Json tables = Json::array();
  for (const TableSpec& table : spec.tables) {
    tables.push_back({{"name", table.name},
                      {"rows", table.rows},
                      {"dim", table.dim},
                      {"features", table.features},
                      {"pooling", ToString(table.pooling)},
                      {"codec", ToString(table.codec)},
                      {"default_row", table.default_row}});
    if (table.raw_ids) tables.back()["raw_ids"] = RawIdsToJson(*table.raw_ids);
    if (!table.pruned()) continue;
    tables.back()["ids"] = table.ids;
    tables.back()["remap"] = RemapKindName(table.remap);
  }
  Json json = {{"tessera_model", kFormat},
               {"version", spec.version},
               {"weights", spec.weights},
               {"model", internal::RankingNetToJson(spec.net)},
               {"dense_type", ToString(spec.dense_type)},
               {"missing", ToString(spec.missing)},
               {"tables", std::move(tables)}};
  if (spec.search) json["search"] = true;
  if (spec.trained) json["trained"] = {{"seed", spec.trained->seed}, {"step", spec.trained->step}};
  if (spec.data) json["data"] = internal::DataToJson(*spec.data);
  return json;
}

}  // namespace

std::string ToJson(const ModelSpec& spec) { return MakeJson(spec).dump(1) + "\n"; }
std::string ToSealedJson(const ModelSpec& spec) {
  return internal::Sealed(MakeJson(spec)).dump(1) + "\n";
}

ModelSpec ParseModelSpec(const std::string& text, const std::string& where) {
  try {
    Json json = internal::ParseJson(text);
    const internal::Dismantled guard(json);
    return ReadSpec(json);
  } catch (const Error& error) {
    throw Error(Format("{}: {}", where, error.what()));
  }
}

}  // namespace tessera::serve
