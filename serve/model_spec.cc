#include "serve/model_spec.h"

#include <set>

#include "runtime/json/json_object.h"

namespace tessera::serve {
namespace {

using internal::CheckPositive;
using internal::Json;
using internal::JsonObject;
using internal::ThrowExpected;

constexpr int64_t kFormat = 1;
// A table beyond this has more bytes than a file.
constexpr int64_t kMostRows = int64_t{1} << 48, kMostDim = 1 << 20;

void CheckAtMost(int64_t value, int64_t most, const std::string& where) {
  CheckPositive(value, where);
  if (value > most) throw Error(Format("{}: expected at most {}, got {}", where, most, value));
}

void ReadSizes(JsonObject& object, const char* key, std::vector<int64_t>& sizes) {
  object.Required(key, sizes);
  if (sizes.empty()) ThrowExpected(object.at(key), "at least one size", Json(sizes));
  for (const int64_t size : sizes) CheckAtMost(size, kMostDim, object.at(key));
}

TableSpec ReadTable(const Json& json, const std::string& where) {
  JsonObject object(json, where);
  TableSpec table;
  object.Required("name", table.name);
  object.Required("rows", table.rows);
  CheckAtMost(table.rows, kMostRows, object.at("rows"));
  object.Required("dim", table.dim);
  CheckAtMost(table.dim, kMostDim, object.at("dim"));
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
  object.Finish();
  return table;
}

void CheckTables(const ModelSpec& spec) {
  std::set<std::string> names, features;
  for (const TableSpec& table : spec.tables) {
    if (!names.insert(table.name).second)
      throw Error(Format("tables: {} is there twice", table.name));
    if (table.dim != spec.dense_arch.back())
      throw Error(Format("tables: {}: expected dim {}, the last size of dense_arch, got {}",
                         table.name, spec.dense_arch.back(), table.dim));
    for (const std::string& feature : table.features)
      if (!features.insert(feature).second)
        throw Error(Format("tables: feature {} is there twice", feature));
  }
}

// A name, not a path: what is outside the directory is none of its business.
void CheckFileName(const std::string& name, const std::string& where) {
  if (name.empty() || name.front() == '.' || name.find('/') != std::string::npos ||
      name.find('\0') != std::string::npos)
    throw Error(Format("{}: expected the name of a file beside it", where));
}

ModelSpec ReadSpec(const Json& json) {
  JsonObject object(json, "");
  ModelSpec spec;
  int64_t format = 0;
  object.Required("tessera_model", format);
  if (format != kFormat)
    throw Error(Format("tessera_model: expected version {}, got {}", kFormat, format));
  object.Required("version", spec.version);
  std::string type;
  object.Required("type", type);
  if (type != "dlrm") throw Error(Format("type: expected \"dlrm\", got \"{}\"", type));
  object.Required("weights", spec.weights);
  CheckFileName(spec.weights, "weights");
  object.Required("dense_in", spec.dense_in);
  CheckAtMost(spec.dense_in, kMostDim, "dense_in");
  ReadSizes(object, "dense_arch", spec.dense_arch);
  ReadSizes(object, "over_arch", spec.over_arch);
  if (spec.over_arch.size() < 2 || spec.over_arch.back() != 1)
    throw Error("over_arch: expected at least two sizes, the last of them 1");
  object.OptionalWord("missing", spec.missing, {MissingIds::kRow0, MissingIds::kEmptyBag});
  const Json& tables = object.Require("tables");
  if (!tables.is_array()) ThrowExpected("tables", "a list", tables);
  for (size_t i = 0; i < tables.size(); ++i)
    spec.tables.push_back(ReadTable(tables[i], Format("tables[{}]", i)));
  object.Finish();
  CheckTables(spec);
  return spec;
}

}  // namespace

std::vector<std::string> ModelSpec::Features() const {
  std::vector<std::string> all;
  for (const TableSpec& table : tables)
    all.insert(all.end(), table.features.begin(), table.features.end());
  return all;
}

std::string RowsName(const TableSpec& table) { return "tables." + table.name; }

std::string ToJson(const ModelSpec& spec) {
  Json tables = Json::array();
  for (const TableSpec& table : spec.tables)
    tables.push_back({{"name", table.name},
                      {"rows", table.rows},
                      {"dim", table.dim},
                      {"features", table.features},
                      {"pooling", ToString(table.pooling)},
                      {"codec", ToString(table.codec)},
                      {"default_row", table.default_row}});
  const Json json = {{"tessera_model", kFormat},
                     {"version", spec.version},
                     {"type", "dlrm"},
                     {"weights", spec.weights},
                     {"dense_in", spec.dense_in},
                     {"dense_arch", spec.dense_arch},
                     {"over_arch", spec.over_arch},
                     {"missing", ToString(spec.missing)},
                     {"tables", std::move(tables)}};
  return json.dump(1) + "\n";
}

ModelSpec ParseModelSpec(const std::string& text, const std::string& where) {
  try {
    return ReadSpec(internal::ParseJson(text));
  } catch (const Error& error) {
    throw Error(Format("{}: {}", where, error.what()));
  }
}

}  // namespace tessera::serve
