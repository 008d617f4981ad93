#include "train/checkpoint/rank_chain.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include "runtime/files/files.h"
#include "runtime/json/json_seal.h"
#include "sharding/checkpoint/checkpoint_info_json.h"
#include "sharding/checkpoint/checkpoint_writer.h"
#include "train/checkpoint/checkpoint_chain.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;
using internal::Json;
using internal::JsonObject;

constexpr char kVersionKey[] = "tessera_rank_chains";
constexpr int64_t kVersion = 1;

// The name of a tensor of a rank's chain, beside StoredName.
std::string NameInChain(const std::string& table, const Shard& shard, const std::string& tensor) {
  const std::string parameter = ShardName(table, shard);
  return tensor == kWeightName ? parameter : OptimizerStateName(parameter, tensor);
}

// ---- what a save says of itself

struct RankPart {
  std::string identity;
  std::map<std::string, StoredTable> stored;  // without shards
  std::map<std::string, SafetensorsEntry> whole;
};

struct RankSave {
  int64_t number = 0;
  CheckpointInfo info;
  std::vector<RankPart> ranks;
};

std::vector<int64_t> DimsOf(const Shape& shape) {
  return {shape.dims().begin(), shape.dims().end()};
}

Json PartJson(const RankPart& part) {
  Json json = {{"identity", part.identity}, {"stored", Json::object()}, {"whole", Json::object()}};
  for (const auto& [name, table] : part.stored) json["stored"][name] = internal::TypesJson(table);
  for (const auto& [name, entry] : part.whole)
    json["whole"][name] = {{"dtype", ToString(entry.dtype)}, {"shape", DimsOf(entry.shape)}};
  return json;
}

SafetensorsEntry ParseWhole(const Json& value, const std::string& where) {
  JsonObject object(value, where);
  SafetensorsEntry entry;
  std::vector<int64_t> dims;
  entry.dtype = internal::DTypeAt(object);
  object.Required("shape", dims);
  entry.shape = Shape(std::span<const int64_t>(dims));
  object.Finish();
  return entry;
}

RankPart ParsePart(const Json& value, const std::string& where) {
  JsonObject object(value, where);
  RankPart part;
  object.Required("identity", part.identity);
  internal::ForEachMember(object, "stored",
                          [&](const auto& name, const Json& json, const auto& place) {
                            JsonObject table(json, place);
                            internal::ReadTypes(table, part.stored[name]);
                            table.Finish();
                          });
  internal::ForEachMember(object, "whole",
                          [&](const auto& name, const Json& json, const auto& place) {
                            part.whole[name] = ParseWhole(json, place);
                          });
  object.Finish();
  return part;
}

RankSave ParseSave(const Json& json) {
  JsonObject object(json, "");
  RankSave save;
  internal::CheckVersion(object, kVersionKey, kVersion);
  internal::CheckSeal(json, object);
  object.Required("number", save.number);
  internal::ReadInfo(object, save.info);
  internal::ForEachElement(object, "ranks", [&](const Json& value, const std::string& place) {
    save.ranks.push_back(ParsePart(value, place));
  });
  object.Finish();
  CheckPlan(save.info.plan, ShapesOf(save.info));
  TESSERA_CHECK_EQ(std::ssize(save.ranks), save.info.plan.world_size, "ranks");
  return save;
}

void WriteSave(const std::string& folder, int64_t number, const CheckpointInfo& info, Json ranks) {
  Json json = {{kVersionKey, kVersion}, {"number", number}};
  internal::AddInfo(info, json);
  json["ranks"] = std::move(ranks);
  const std::string path = RanksPath(folder, number);
  try {
    ReplaceTextFile(path, internal::Sealed(std::move(json)).dump(1));
  } catch (...) {  // it does not count if it may not outlast a loss of power
    std::error_code ignored;
    fs::remove(path, ignored);
    throw;
  }
}

int64_t NewestNumber(const std::string& folder) {
  const std::vector<int64_t> saves = SavesOfRanks(folder);
  if (saves.empty())
    throw Error(Format("{}: no save of ranks counts in it (such as {})", folder, RanksPath("", 1)));
  return saves.back();
}

RankSave ReadSave(const std::string& folder, int64_t number) {
  const std::string path = RanksPath(folder, number);
  RankSave save = internal::ReadDocument(ReadTextFile(path), path, ParseSave);
  TESSERA_CHECK_EQ(save.number, number, "{}: number", path);
  return save;
}

RankSave NewestSave(const std::string& folder) { return ReadSave(folder, NewestNumber(folder)); }

// ---- what it is of

// The chain of one rank, read when it is asked for.
class RankFiles {
 public:
  RankFiles(const std::string& folder, int64_t number, std::string identity)
      : files_(ChainUpTo(folder, number)), identity_(std::move(identity)) {}

  void Read(const CheckpointEntry& entry, int64_t offset, int64_t count, void* out) {
    if (!chain_) Open();
    const auto found =
        std::lower_bound(chain_->tensors.begin(), chain_->tensors.end(), entry.name,
                         [](const CheckpointEntry& e, const std::string& n) { return e.name < n; });
    if (found == chain_->tensors.end() || found->name != entry.name)
      throw Error(Format("{}: it lacks '{}'", files_.folder, entry.name));
    if (found->tensor.dtype != entry.tensor.dtype || found->tensor.shape != entry.tensor.shape)
      throw Error(Format("{}: '{}': expected {} of {}, got {} of {}", files_.folder, entry.name,
                         entry.tensor.shape, entry.tensor.dtype, found->tensor.shape,
                         found->tensor.dtype));
    chain_->read_bytes(*found, offset, count, out);
  }

 private:
  void Open() {
    chain_ = ReadChain(files_);
    if (chain_->chain->identity != identity_)
      throw Error(
          Format("{}: its file {} is not the one that was saved: the folder was mixed up "
                 "from two runs",
                 files_.folder, files_.last()));
  }

  ChainFiles files_;
  std::string identity_;
  std::optional<Checkpoint> chain_;
};

// A save as index and tensors of a ShardedCheckpoint.
class Opened {
 public:
  Opened(const std::string& folder, RankSave save) : folder_(folder), save_(std::move(save)) {
    index_.save = save_.number;
    for (size_t rank = 0; rank < save_.ranks.size(); ++rank) {
      const std::string of_rank = RankFolder(folder, static_cast<int64_t>(rank));
      index_.files.push_back({fs::path(of_rank).filename().string(), 0});
      files_.push_back(
          std::make_shared<RankFiles>(of_rank, save_.number, save_.ranks[rank].identity));
    }
    for (const auto& [name, sharding] : save_.info.plan.tables)
      for (const Shard& shard : sharding.shards)
        if (IsWritten(save_.info.plan, name, shard, shard.rank)) AddShard(name, shard);
    for (size_t rank = 0; rank < save_.ranks.size(); ++rank)
      for (const auto& [name, entry] : save_.ranks[rank].whole)
        AddWhole(static_cast<int>(rank), name, entry);
  }

  ShardedCheckpoint Finish() {
    index_.info = std::move(save_.info);
    for (const CheckpointTable& table : index_.info.tables) index_.tables[table.shape.name];
    return {folder_, std::move(index_), std::move(tensors_)};
  }

 private:
  void AddShard(const std::string& table, const Shard& shard) {
    const auto& types = save_.ranks[static_cast<size_t>(shard.rank)].stored;
    const auto found = types.find(table);
    if (found == types.end())
      throw Error(
          Format("{}: table {}: rank {} has not saved its part", folder_, table, shard.rank));
    StoredTable& stored = index_.tables[table];
    if (stored.shards.empty()) stored = found->second;
    if (stored.dtype != found->second.dtype || stored.states != found->second.states)
      throw Error(Format("{}: table {}: its shards differ in types or states", folder_, table));
    stored.shards.push_back({shard.rank, shard, {}});
    Add(shard.rank, StoredName(table, shard, kWeightName), NameInChain(table, shard, kWeightName),
        {stored.dtype, {shard.rows, shard.columns}, 0});
    for (const StoredState& s : stored.states)
      Add(shard.rank, StoredName(table, shard, s.name), NameInChain(table, shard, s.name),
          {s.dtype, s.per_row ? Shape{shard.rows} : Shape{shard.rows, shard.columns}, 0});
  }

  void AddWhole(int rank, const std::string& name, const SafetensorsEntry& entry) {
    if (!index_.whole.emplace(name, StoredWhole{rank, {}}).second)
      throw Error(Format("{}: two ranks have '{}'", folder_, name));
    Add(rank, name, name, entry);
  }

  void Add(int rank, const std::string& name, const std::string& in_chain,
           const SafetensorsEntry& entry) {
    index_.files[static_cast<size_t>(rank)].bytes += entry.nbytes();
    const auto files = files_[static_cast<size_t>(rank)];
    tensors_[name] = {
        entry.dtype, entry.shape,
        [files, stored = CheckpointEntry{in_chain, entry}](
            int64_t begin, int64_t count, void* out) { files->Read(stored, begin, count, out); }};
  }

  std::string folder_;
  RankSave save_;
  CheckpointIndex index_;
  std::vector<std::shared_ptr<RankFiles>> files_;
  std::map<std::string, StoredTensor> tensors_;
};

void RemoveEmpty(const std::string& folder) {
  std::error_code ignored;
  fs::remove(folder, ignored);
}

// Writes a base of the rank's chain as file `number` + 1; returns its description.
std::string CompactFiles(const std::string& folder, int64_t number) {
  RemoveUnfinished(folder);
  RemoveAfter(folder, number);
  const std::string path = BasePath(folder, number + 1);
  WriteWhole(ReadChain(ChainUpTo(folder, number)), path);
  SyncFolder(folder);
  return FileIdentity(SafetensorsFile(path).metadata());
}

}  // namespace

ChainState ChainStateOf(const RankState& state, const TrainingProgress& progress,
                        const std::string& config) {
  ChainState chain{.state = state.whole, .changed = {}, .progress = progress, .config = config};
  for (size_t s = 0; s < state.shards.size(); ++s) {
    const ShardTensors& part = state.shards[s];
    std::vector<NamedTensor> tensors = {part.Weights()};
    tensors.insert(tensors.end(), part.states.begin(), part.states.end());
    for (NamedTensor& tensor : tensors) {
      tensor.name = NameInChain(part.table, part.shard, tensor.name);
      chain.state.push_back(std::move(tensor));
    }
    if (state.changed[s])
      chain.changed.push_back({ShardName(part.table, part.shard), state.changed[s]});
  }
  return chain;
}

std::string DescribeRankFile(const RankState& state, const std::string& identity) {
  RankPart part{.identity = identity, .stored = {}, .whole = {}};
  for (const ShardTensors& shard : state.shards) {
    StoredTable& table = part.stored[shard.table];
    table = {.dtype = shard.weights.dtype(), .states = {}, .shards = {}};
    for (const OptimizerState& s : shard.states)
      table.states.push_back({s.name, s.tensor.dtype(), s.tensor.rank() == 1});
  }
  for (const NamedTensor& named : state.whole)
    part.whole[named.name] = {named.tensor.dtype(), named.tensor.shape(), 0};
  return PartJson(part).dump();
}

void CommitRankFiles(const std::string& folder, int64_t number, const CheckpointInfo& info,
                     const std::vector<std::string>& described) {
  Json ranks = Json::array();
  for (const std::string& text : described) ranks.push_back(internal::ParseJson(text));
  WriteSave(folder, number, info, std::move(ranks));
}

// Removes files of earlier chains, also those of ranks that this run does not have.
void RemoveOldRankFiles(const std::string& folder, int rank, int ranks, int64_t keep) {
  const std::string mine = RankFolder(folder, rank);
  RemoveOldChains(mine, keep);
  if (rank != 0) return;
  const int64_t first = ListChains(mine).front().base;
  for (const int64_t save : SavesOfRanks(folder))
    if (save < first) fs::remove(RanksPath(folder, save));
  for (const int64_t other : RanksIn(folder)) {
    if (other < ranks) continue;
    RemoveUnfinished(RankFolder(folder, other));
    RemoveBefore(RankFolder(folder, other), first);
    RemoveEmpty(RankFolder(folder, other));
  }
}

// Where another save has counted meanwhile, the files may have been removed: that one is opened.
ShardedCheckpoint OpenRankChain(const std::string& folder) {
  for (;;) {
    const int64_t newest = NewestNumber(folder);
    try {
      return Opened(folder, ReadSave(folder, newest)).Finish();
    } catch (const Error&) {
      if (NewestNumber(folder) == newest) throw;
    }
  }
}

void CompactRankChain(const std::string& folder, int64_t keep) {
  TESSERA_CHECK_GE(keep, 0, "{}: chains to keep", folder);
  const RankSave save = NewestSave(folder);
  const int ranks = save.info.plan.world_size;
  if (PositionOfRanks(folder).deltas > 0) {
    Json parts = Json::array();
    for (int rank = 0; rank < ranks; ++rank) {
      RankPart part = save.ranks[static_cast<size_t>(rank)];
      part.identity = CompactFiles(RankFolder(folder, rank), save.number);
      parts.push_back(PartJson(part));
    }
    WriteSave(folder, save.number + 1, save.info, std::move(parts));
  }
  for (int rank = 0; rank < ranks; ++rank) RemoveOldRankFiles(folder, rank, ranks, keep);
}

ChainPosition PositionOfRanks(const std::string& folder) {
  const RankSave save = NewestSave(folder);
  const auto of_rank = [&](int rank) {
    return ReadPosition(ChainUpTo(RankFolder(folder, rank), save.number));
  };
  ChainPosition position = of_rank(0);
  position.folder = folder;
  for (int rank = 1; rank < save.info.plan.world_size; ++rank) {
    const ChainPosition other = of_rank(rank);
    position.base_bytes += other.base_bytes;
    position.delta_bytes += other.delta_bytes;
  }
  return position;
}

}  // namespace tessera
