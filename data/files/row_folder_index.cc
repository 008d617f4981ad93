#include "data/files/row_folder_index.h"

#include <algorithm>

#include "data/schema/data_schema_json.h"
#include "runtime/base/check.h"
#include "runtime/base/size_limits.h"
#include "runtime/files/files.h"
#include "runtime/json/json_fields.h"
#include "runtime/json/json_seal.h"
#include "runtime/json/utf8.h"

namespace tessera {
namespace {

using internal::Json;
using internal::JsonObject;
using internal::ThrowExpected;

constexpr char kFormat[] = "tessera rows";
constexpr char kIndex[] = "index.json";

// Whether a file that may be an index is one of rows; a checkpoint of ranks has an index, too.
bool SaysRows(const std::string& path) {
  try {
    return ReadTextFile(path).find(Format("\"{}\"", kFormat)) != std::string::npos;
  } catch (const Error&) {
    return false;
  }
}

// ---- to JSON

Json ToJson(const RowShard& shard) {
  Json checksums = Json::object();
  for (const auto& [tensor, digits] : shard.checksums) checksums[tensor] = digits;
  return {{"file", shard.file}, {"rows", shard.rows}, {"crc32", checksums}};
}

Json ToJson(const RowFolderIndex& index) {
  Json json = {{"format", kFormat}, {"version", index.version()}, {"rows", index.rows}};
  if (index.schema == nullptr) json["dense_columns"] = index.dense_columns;
  json["features"] = Json::array();
  for (const CategoricalFeature& f : index.features)
    json["features"].push_back({{"name", f.name}, {"rows", f.rows}});
  if (index.schema != nullptr) json["schema"] = internal::DataSchemaToJson(*index.schema);
  json["made"] = Json::object();
  for (const auto& [key, value] : index.made)
    json["made"][internal::AsUtf8(key)] = internal::AsUtf8(value);
  json["shards"] = Json::array();
  for (const RowShard& shard : index.shards) json["shards"].push_back(ToJson(shard));
  return json;
}

// ---- from JSON

// fn(key, value) for the strings of an object.
template <typename Fn>
void ForEachString(JsonObject& object, const char* key, Fn&& fn) {
  JsonObject strings(object.Require(key), object.at(key));
  for (const auto& [name, value] : object.Require(key).items()) {
    std::string text;
    strings.Required(name, text);
    fn(name, std::move(text));
  }
}

int64_t CountAt(JsonObject& object, const char* key) {
  int64_t count = 0;
  object.Required(key, count);
  CheckCount(count, SizeLimits::kRows, object.at(key));
  return count;
}

RowShard ParseShard(const Json& json, const std::string& where) {
  JsonObject object(json, where);
  RowShard shard{.rows = CountAt(object, "rows")};
  object.Required("file", shard.file);
  ForEachString(object, "crc32", [&](const std::string& tensor, std::string digits) {
    shard.checksums.emplace(tensor, std::move(digits));
  });
  object.Finish();
  return shard;
}

int64_t ReadVersion(JsonObject& document) {
  std::string format;
  int64_t version = 0;
  document.Required("format", format);
  if (format != kFormat) ThrowExpected("format", Format("\"{}\"", kFormat), format);
  document.Required("version", version);
  if (version != 1 && version != 2) ThrowExpected("version", "1 or 2", version);
  return version;
}

DataSchema ReadSchema(JsonObject& document) {
  JsonObject schema(document.Require("schema"), "schema");
  RowFormat format = RowFormat::kJsonl;
  schema.Require("format");
  schema.OptionalWord("format", format, {RowFormat::kJsonl, RowFormat::kCsv, RowFormat::kTsv});
  DataSchema read = internal::DataSchemaFromJson(schema, format);
  schema.Finish();
  return read;
}

void ReadFeatures(JsonObject& document, RowFolderIndex& index) {
  ForEachElement(document, "features", [&](const Json& element, const std::string& place) {
    JsonObject feature(element, place);
    CategoricalFeature& f = index.features.emplace_back();
    feature.Required("name", f.name);
    f.rows = CountAt(feature, "rows");
    f.raw = f.rows == 0;
    feature.Finish();
  });
}

RowFolderIndex ParseIndex(const Json& json) {
  JsonObject document(json, "");
  const int64_t version = ReadVersion(document);
  internal::CheckSeal(json, document);
  RowFolderIndex index{.rows = CountAt(document, "rows")};
  ReadFeatures(document, index);
  if (version == 1) {
    index.dense_columns = CountAt(document, "dense_columns");
  } else {
    index.schema = std::make_shared<const DataSchema>(ReadSchema(document));
    index.dense_columns = index.schema->dense_size();
  }
  ForEachElement(document, "shards", [&](const Json& element, const std::string& place) {
    index.shards.push_back(ParseShard(element, place));
  });
  ForEachString(document, "made", [&](const std::string& key, std::string value) {
    index.made.emplace_back(key, std::move(value));
  });
  document.Finish();
  int64_t rows = 0;
  for (const RowShard& shard : index.shards)
    rows = CheckedSum("rows of all shards", {rows, shard.rows});
  TESSERA_CHECK_EQ(rows, index.rows, "rows of all shards");
  return index;
}

}  // namespace

std::string RowShardName(size_t shard) { return Format("rows-{:05}.safetensors", shard); }

bool IsRowShardName(std::string_view name) {
  constexpr std::string_view kBegin = "rows-", kEnd = ".safetensors";
  if (!name.starts_with(kBegin) || !name.ends_with(kEnd)) return false;
  name.remove_prefix(kBegin.size());
  name.remove_suffix(std::min(kEnd.size(), name.size()));
  return name.size() >= 5 && name.find_first_not_of("0123456789") == std::string_view::npos;
}

bool HasRowFolderIndex(const std::string& folder) { return IsThere(PathIn(folder, kIndex)); }

bool IsRowFolder(const std::string& path) {
  if (!IsFolder(path)) return false;
  if (IsThere(PathIn(path, RowShardName(0)))) return true;
  for (const std::string& name : EntriesOf(path))
    if (IsRowShardName(name)) return true;
  return IsThere(PathIn(path, kIndex)) && SaysRows(PathIn(path, kIndex));
}

RowFolderIndex ReadRowFolderIndex(const std::string& folder) {
  const std::string path = PathIn(folder, kIndex);
  if (!HasRowFolderIndex(folder))
    throw Error(
        Format("{}: it has no {}: the writing of its rows was never finished", folder, kIndex));
  try {
    return ParseIndex(internal::ParseJson(ReadTextFile(path)));
  } catch (const Error& error) {
    throw Error(Format("{}: {}", path, error.what()));
  }
}

void WriteRowFolderIndex(const std::string& folder, const RowFolderIndex& index) {
  ReplaceTextFile(PathIn(folder, kIndex), internal::Sealed(ToJson(index)).dump(1) + "\n");
  SyncFolder(folder);
}

}  // namespace tessera
