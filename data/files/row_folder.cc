#include "data/files/row_folder.h"

#include <filesystem>

#include "runtime/base/size_limits.h"
#include "runtime/files/checkpoint_checksums.h"
#include "runtime/files/files.h"
#include "runtime/files/mapped_file.h"
#include "runtime/files/safetensors.h"
#include "runtime/json/json_seal.h"

namespace tessera {
namespace {

using internal::Json;
using internal::JsonObject;
using internal::ThrowExpected;

constexpr char kFormat[] = "tessera rows";
constexpr int64_t kVersion = 1;
constexpr char kIndex[] = "index.json";
constexpr char kDense[] = "dense", kIds[] = "ids", kLabels[] = "labels";

std::string ShardName(size_t shard) { return Format("rows-{:05}.safetensors", shard); }

std::string ChecksumsOf(const void* bytes, size_t count) {
  Checksums checksums;
  checksums.Add(bytes, static_cast<int64_t>(count));
  return checksums.Finish();
}

// ---- the index

Json ToJson(const RowFolderIndex& index) {
  Json json = {{"format", kFormat},         {"version", kVersion},
               {"rows", index.rows},        {"dense_columns", index.dense_columns},
               {"features", Json::array()}, {"made", Json::object()},
               {"shards", Json::array()}};
  for (const CategoricalFeature& f : index.features)
    json["features"].push_back({{"name", f.name}, {"rows", f.rows}});
  for (const auto& [key, value] : index.made) json["made"][key] = value;
  for (const RowShard& s : index.shards)
    json["shards"].push_back(
        {{"file", s.file},
         {"rows", s.rows},
         {"crc32",
          {{kDense, s.dense_checksums}, {kIds, s.id_checksums}, {kLabels, s.label_checksums}}}});
  return json;
}

// fn(element, place) for the elements of a list.
template <typename Fn>
void ForEachElement(JsonObject& object, const char* key, Fn&& fn) {
  const Json& list = object.Require(key);
  if (!list.is_array()) ThrowExpected(object.at(key), "a list", list);
  for (size_t i = 0; i < list.size(); ++i) fn(list[i], Format("{}[{}]", object.at(key), i));
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
  JsonObject checksums(object.Require("crc32"), object.at("crc32"));
  checksums.Required(kDense, shard.dense_checksums);
  checksums.Required(kIds, shard.id_checksums);
  checksums.Required(kLabels, shard.label_checksums);
  checksums.Finish();
  object.Finish();
  return shard;
}

void ReadHead(JsonObject& document) {
  std::string format;
  int64_t version = 0;
  document.Required("format", format);
  if (format != kFormat) ThrowExpected("format", Format("\"{}\"", kFormat), format);
  document.Required("version", version);
  if (version != kVersion) ThrowExpected("version", std::to_string(kVersion), version);
}

RowFolderIndex ParseIndex(const Json& json) {
  JsonObject document(json, "");
  ReadHead(document);
  internal::CheckSeal(json, document);
  RowFolderIndex index{.rows = CountAt(document, "rows"),
                       .dense_columns = CountAt(document, "dense_columns")};
  ForEachElement(document, "features", [&](const Json& element, const std::string& place) {
    JsonObject feature(element, place);
    CategoricalFeature& f = index.features.emplace_back();
    feature.Required("name", f.name);
    f.rows = CountAt(feature, "rows");
    feature.Finish();
  });
  ForEachElement(document, "shards", [&](const Json& element, const std::string& place) {
    index.shards.push_back(ParseShard(element, place));
  });
  JsonObject made(document.Require("made"), "made");
  for (const auto& [key, value] : document.Require("made").items())
    made.Required(key, index.made.emplace_back(key, "").second);
  document.Finish();
  int64_t rows = 0;
  for (const RowShard& shard : index.shards)
    rows = CheckedSum("rows of all shards", {rows, shard.rows});
  TESSERA_CHECK_EQ(rows, index.rows, "rows of all shards");
  return index;
}

// ---- shards

StoredColumns MapColumns(const std::shared_ptr<const MappedFile>& file,
                         const SafetensorsFile& content, const char* name,
                         const std::string& checksums) {
  const auto found = content.entries().find(name);
  if (found == content.entries().end())
    throw Error(Format("{}: tensor '{}' is missing", file->path(), name));
  const SafetensorsEntry& entry = found->second;
  TESSERA_CHECK_LE(entry.begin + entry.nbytes(), file->bytes(), "{}: bytes", file->path());
  const char* const data = file->data() + entry.begin;
  return {Tensor::Borrow(const_cast<char*>(data), entry.shape, entry.dtype, file->owner()),
          std::make_shared<CheckedBytes>(data, entry.nbytes(), checksums,
                                         Format("{}: tensor '{}'", file->path(), name))};
}

StoredRowsPart MapShard(const std::string& folder, const RowShard& shard) {
  const std::string path = PathOfNamed(folder, shard.file);
  const SafetensorsFile content(path);
  const auto file = std::make_shared<const MappedFile>(path);
  StoredRowsPart part{.name = path,
                      .dense = MapColumns(file, content, kDense, shard.dense_checksums),
                      .ids = MapColumns(file, content, kIds, shard.id_checksums),
                      .labels = MapColumns(file, content, kLabels, shard.label_checksums)};
  TESSERA_CHECK(part.dense.tensor.rank() == 2 && part.dense.tensor.dim(0) == shard.rows,
                "{}: expected dense of {} rows, got {}", path, shard.rows,
                part.dense.tensor.shape());
  return part;
}

}  // namespace

bool IsRowFolder(const std::string& path) {
  return std::filesystem::exists(PathIn(path, ShardName(0)));
}

RowFolderIndex ReadRowFolderIndex(const std::string& folder) {
  const std::string path = PathIn(folder, kIndex);
  if (!std::filesystem::exists(path))
    throw Error(
        Format("{}: it has no {}: the writing of its rows was never finished", folder, kIndex));
  try {
    return ParseIndex(internal::ParseJson(ReadTextFile(path)));
  } catch (const Error& error) {
    throw Error(Format("{}: {}", path, error.what()));
  }
}

StoredParts MapRowFolder(const std::string& folder) {
  const RowFolderIndex index = ReadRowFolderIndex(folder);
  std::vector<StoredRowsPart> parts;
  for (const RowShard& shard : index.shards) parts.push_back(MapShard(folder, shard));
  if (parts.empty()) throw Error(Format("{}: it holds no rows", folder));
  std::vector<std::string> columns;
  for (const CategoricalFeature& f : index.features) columns.push_back(f.name);
  return StoredParts(std::move(parts), std::move(columns));
}

// ---- writing

RowFolderWriter::RowFolderWriter(const std::string& folder, const RowFolderOptions& options)
    : ctx_({.threads = 1}), folder_(folder), options_(options) {
  TESSERA_CHECK_GT(options.shard_rows, 0, "rows of a shard");
  index_.dense_columns = options.dense_columns;
  index_.features = options.features;
  index_.made = options.made;
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw Error(Format("{}: cannot be made: {}", folder, error.message()));
  std::filesystem::remove(PathIn(folder, kIndex), error);
  for (size_t old = 0; std::filesystem::remove(PathIn(folder, ShardName(old)), error); ++old) {
  }
}

void RowFolderWriter::Append(const StoredRow& row) {
  dense_.insert(dense_.end(), row.dense.begin(), row.dense.end());
  ids_.insert(ids_.end(), row.ids.begin(), row.ids.end());
  labels_.push_back(row.label);
  if (static_cast<int64_t>(labels_.size()) == options_.shard_rows) WriteShard();
}

template <typename Id>
Tensor RowFolderWriter::Ids() const {
  const Tensor ids = Tensor::EmptyHost(
      {static_cast<int64_t>(labels_.size()), static_cast<int64_t>(options_.features.size())},
      DTypeOf<Id>::value);
  for (size_t i = 0; i < ids_.size(); ++i) ids.data<Id>()[i] = static_cast<Id>(ids_[i]);
  return ids;
}

void RowFolderWriter::WriteShard() {
  const auto rows = static_cast<int64_t>(labels_.size());
  const Tensor ids = options_.id_type == DType::kI32 ? Ids<int32_t>() : Ids<int64_t>();
  RowShard shard{.file = ShardName(index_.shards.size()), .rows = rows};
  shard.dense_checksums = ChecksumsOf(dense_.data(), dense_.size() * sizeof(float));
  shard.id_checksums = ChecksumsOf(ids.raw_data(), static_cast<size_t>(ids.nbytes()));
  shard.label_checksums = ChecksumsOf(labels_.data(), labels_.size() * sizeof(float));
  Safetensors content;
  content.tensors = {
      {kDense, Tensor::Borrow(dense_.data(), {rows, options_.dense_columns}, DType::kF32)},
      {kIds, ids},
      {kLabels, Tensor::Borrow(labels_.data(), {rows}, DType::kF32)}};
  WriteSafetensors(ctx_, PathIn(folder_, shard.file), content);
  index_.rows += rows;
  index_.shards.push_back(std::move(shard));
  dense_.clear();
  ids_.clear();
  labels_.clear();
}

void RowFolderWriter::Finish() {
  if (!labels_.empty()) WriteShard();
  ReplaceTextFile(PathIn(folder_, kIndex), internal::Sealed(ToJson(index_)).dump(1) + "\n");
  SyncFolder(folder_);
}

}  // namespace tessera
