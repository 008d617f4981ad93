#include "sharding/checkpoint/checkpoint_index.h"

#include <algorithm>

#include "runtime/base/check.h"
#include "runtime/files/checkpoint_checksums.h"
#include "runtime/json/json_seal.h"
#include "sharding/checkpoint/checkpoint_info_json.h"
#include "sharding/plan/plan_json_impl.h"

namespace tessera {
namespace {

using internal::ForEachElement;
using internal::ForEachMember;
using internal::Json;
using internal::JsonObject;

constexpr char kVersionKey[] = "tessera_sharded_checkpoint";
constexpr int64_t kVersion = 1;

int FileAt(JsonObject& object, const CheckpointIndex& index) {
  int64_t file = 0;
  object.Required("file", file);
  if (file < 0 || file >= static_cast<int64_t>(index.files.size()))
    throw Error(Format("{}: {}: there are {} files", object.at("file"), file, index.files.size()));
  return static_cast<int>(file);
}

// ---- what files hold

// Unsigned numbers go as two's complement. SetPlace finds the rest of a start again.
void AddStarted(const StartedRows& started, Json& json) {
  const RowStart& start = started.start;
  json["start"] = {{"low", start.low},
                   {"high", start.high},
                   {"seed", static_cast<int64_t>(start.seed)},
                   {"sequence", static_cast<int64_t>(start.sequence)}};
  json["rows"] = Json::array();
  for (const auto& [begin, end] : started.runs) json["rows"].push_back({begin, end});
}

Json StoredShardJson(const StoredShard& stored) {
  const Shard& s = stored.shard;
  Json json = {{"file", stored.file},
               {"rank", s.rank},
               {"offset", {s.row_offset, s.column_offset}},
               {"size", {s.rows, s.columns}},
               {"crc32", stored.checksums}};
  if (stored.started) AddStarted(*stored.started, json);
  return json;
}

void SetPlace(const Shard& shard, int64_t dim, RowStart& start) {
  start.row_elements = dim;
  start.first = shard.row_offset * dim + shard.column_offset;
}

StartedRows StartedAt(JsonObject& object, const Shard& shard) {
  StartedRows started;
  JsonObject start(object.Require("start"), object.at("start"));
  int64_t seed = 0, sequence = 0;
  start.Required("low", started.start.low);
  start.Required("high", started.start.high);
  start.Required("seed", seed);
  start.Required("sequence", sequence);
  start.Finish();
  started.start.seed = static_cast<uint64_t>(seed);
  started.start.sequence = static_cast<uint64_t>(sequence);
  int64_t last = -1;  // runs lie apart
  ForEachElement(object, "rows", [&](const Json& element, const std::string& place) {
    std::vector<int64_t> run;
    internal::ReadJson(element, place, run);
    if (run.size() != 2 || run[0] <= last || run[1] <= run[0] || run[1] > shard.rows)
      throw Error(Format("{}: expected the begin and the end of rows after {}, within {}", place,
                         last, shard.rows));
    started.runs.push_back({run[0], run[1]});
    last = run[1];
  });
  return started;
}

StoredShard StoredShardOf(const Json& value, const std::string& where,
                          const CheckpointIndex& index) {
  JsonObject object(value, where);
  StoredShard stored;
  stored.file = FileAt(object, index);
  stored.shard = internal::ShardAt(object);
  stored.checksums = internal::StringsAt(object, "crc32");
  if (object.Has("rows")) stored.started = StartedAt(object, stored.shard);
  object.Finish();
  return stored;
}

Json StoredTableJson(const StoredTable& table) {
  Json json = internal::TypesJson(table);
  json["shards"] = Json::array();
  for (const StoredShard& s : table.shards) json["shards"].push_back(StoredShardJson(s));
  return json;
}

StoredTable StoredTableOf(const Json& value, const std::string& where,
                          const CheckpointIndex& index) {
  JsonObject object(value, where);
  StoredTable table;
  internal::ReadTypes(object, table);
  ForEachElement(object, "shards", [&](const Json& element, const std::string& place) {
    table.shards.push_back(StoredShardOf(element, place, index));
  });
  object.Finish();
  return table;
}

void AddContent(const CheckpointIndex& index, Json& json) {
  json["files"] = Json::array();
  for (const StoredFile& f : index.files)
    json["files"].push_back({{"name", f.name}, {"bytes", f.bytes}});
  json["stored"] = Json::object();
  for (const auto& [name, table] : index.tables) json["stored"][name] = StoredTableJson(table);
  json["whole"] = Json::object();
  for (const auto& [name, whole] : index.whole)
    json["whole"][name] = {{"file", whole.file}, {"crc32", whole.checksums}};
}

void ReadContent(JsonObject& object, CheckpointIndex& index) {
  ForEachElement(object, "files", [&](const Json& element, const std::string& place) {
    JsonObject file(element, place);
    StoredFile& stored = index.files.emplace_back();
    file.Required("name", stored.name);
    file.Required("bytes", stored.bytes);
    file.Finish();
  });
  ForEachMember(object, "stored", [&](const auto& name, const Json& value, const auto& place) {
    index.tables[name] = StoredTableOf(value, place, index);
  });
  ForEachMember(object, "whole", [&](const auto& name, const Json& value, const auto& place) {
    JsonObject whole(value, place);
    StoredWhole& stored = index.whole[name];
    stored.file = FileAt(whole, index);
    whole.Required("crc32", stored.checksums);
    whole.Finish();
  });
}

// ---- what must hold

void CheckChecksums(const std::string& digits, int64_t bytes, const std::string& what) {
  if (static_cast<int64_t>(digits.size()) != ChecksumDigits(bytes))
    throw Error(Format("{}: expected {} digits of checksums, got {}", what, ChecksumDigits(bytes),
                       digits.size()));
}

void CheckStored(const std::string& name, const StoredTable& table, const StoredShard& stored) {
  const Shard& s = stored.shard;
  const auto check = [&](const std::string& tensor, int64_t bytes) {
    const auto found = stored.checksums.find(tensor);
    if (found == stored.checksums.end())
      throw Error(Format("table {}, {}: {} is missing", name, s, tensor));
    CheckChecksums(found->second, bytes, StoredName(name, s, tensor));
  };
  const int64_t rows = stored.rows_in_file();
  check(kWeightName, rows * s.columns * SizeOf(table.dtype));
  for (const StoredState& state : table.states)
    check(state.name, rows * (state.per_row ? 1 : s.columns) * SizeOf(state.dtype));
}

// The shards of the plan that are stored.
std::vector<Shard> ShardsToStore(const TableSharding& sharding) {
  std::vector<Shard> shards;
  for (const Shard& s : sharding.shards)
    if (s.rows > 0) shards.push_back(s);
  if (sharding.type == ShardingType::kDataParallel) shards.resize(1);
  return shards;
}

// Sorts the shards into the plan's order; throws unless they are the plan's. A data-parallel
// table's may come from any rank.
void CheckShards(const std::string& name, const TableSharding& sharding, StoredTable& table) {
  const bool replicas = sharding.type == ShardingType::kDataParallel;
  std::vector<StoredShard> sorted;
  for (const Shard& wanted : ShardsToStore(sharding)) {
    const auto found =
        std::find_if(table.shards.begin(), table.shards.end(), [&](const StoredShard& s) {
          Shard there = s.shard;
          if (replicas) there.rank = wanted.rank;
          return there == wanted;
        });
    if (found == table.shards.end())
      throw Error(Format("table {}: the shard of {} is missing", name, wanted));
    sorted.push_back(std::move(*found));
    table.shards.erase(found);
  }
  if (!table.shards.empty())
    throw Error(Format("table {}: the plan has no shard of {}", name, table.shards[0].shard));
  table.shards = std::move(sorted);
}

void CheckIndex(CheckpointIndex& index) {
  const std::vector<TableShape> shapes = ShapesOf(index.info);
  CheckPlan(index.info.plan, shapes);
  for (const TableShape& shape : shapes) {
    const auto found = index.tables.find(shape.name);
    if (found == index.tables.end()) throw Error(Format("table {} is not stored", shape.name));
    CheckShards(shape.name, index.info.plan.tables.at(shape.name), found->second);
    for (StoredShard& s : found->second.shards) {
      CheckStored(shape.name, found->second, s);
      if (s.started) SetPlace(s.shard, shape.dim, s.started->start);
    }
  }
  for (const auto& [name, table] : index.tables)
    if (!index.info.plan.tables.contains(name))
      throw Error(Format("table {} is stored, but the plan lacks it", name));
}

// Adds a rank's part of one table to those of the ranks before.
void MergeTable(const std::string& name, int rank, StoredTable part, StoredTable& table) {
  const bool first = table.shards.empty();
  if (first) {
    table.dtype = part.dtype;
    table.states = part.states;
  }
  if (part.dtype != table.dtype || part.states != table.states)
    throw Error(
        Format("table {}: rank {} has other types or optimizer states than the ranks "
               "before it",
               name, rank));
  for (StoredShard& shard : part.shards) {
    shard.file = rank;
    table.shards.push_back(std::move(shard));
  }
}

}  // namespace

std::vector<TableShape> ShapesOf(const CheckpointInfo& info) {
  std::vector<TableShape> shapes;
  for (const CheckpointTable& table : info.tables) shapes.push_back(table.shape);
  return shapes;
}

std::string ShardName(const std::string& table, const Shard& s) {
  return Format("{}[{}:{},{}:{}]", table, s.row_offset, s.row_offset + s.rows, s.column_offset,
                s.column_offset + s.columns);
}

std::string StoredName(const std::string& table, const Shard& shard, const std::string& tensor) {
  return Format("{}.{}", ShardName(table, shard), tensor);
}

std::string PartToText(const CheckpointIndex& part) {
  Json json = Json::object();
  AddContent(part, json);
  return json.dump();
}

CheckpointIndex MergeParts(int64_t save, CheckpointInfo info,
                           const std::vector<std::string>& parts) {
  CheckpointIndex index{
      .save = save, .info = std::move(info), .files = {}, .tables = {}, .whole = {}};
  for (size_t rank = 0; rank < parts.size(); ++rank) {
    CheckpointIndex part;
    const Json json = internal::ParseJson(parts[rank]);
    JsonObject object(json, Format("rank {}", rank));
    ReadContent(object, part);
    object.Finish();
    TESSERA_CHECK_EQ(part.files.size(), 1u, "files of rank {}", rank);
    index.files.push_back(part.files[0]);
    for (auto& [name, table] : part.tables)
      MergeTable(name, static_cast<int>(rank), std::move(table), index.tables[name]);
    for (auto& [name, whole] : part.whole) {
      whole.file = static_cast<int>(rank);
      TESSERA_CHECK(index.whole.emplace(name, whole).second, "two ranks wrote '{}'", name);
    }
  }
  CheckIndex(index);
  return index;
}

std::string IndexToJson(const CheckpointIndex& index) {
  Json json = {{kVersionKey, kVersion}, {"save", index.save}, {"checksum_bytes", kChecksumBytes}};
  internal::AddInfo(index.info, json);
  AddContent(index, json);
  return internal::Sealed(std::move(json)).dump(1);
}

CheckpointIndex IndexFromJson(const std::string& text, const std::string& where) {
  return internal::ReadDocument(text, where, [](const Json& json) {
    JsonObject object(json, "");
    CheckpointIndex index;
    int64_t checksum_bytes = 0;
    internal::CheckVersion(object, kVersionKey, kVersion);
    internal::CheckSeal(json, object);
    object.Required("save", index.save);
    object.Required("checksum_bytes", checksum_bytes);
    if (checksum_bytes != kChecksumBytes)
      throw Error(Format("checksum_bytes: expected {}, got {}", kChecksumBytes, checksum_bytes));
    internal::ReadInfo(object, index.info);
    ReadContent(object, index);
    object.Finish();
    CheckIndex(index);
    return index;
  });
}

}  // namespace tessera
