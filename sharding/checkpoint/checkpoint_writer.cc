#include "sharding/checkpoint/checkpoint_writer.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>

#include "runtime/base/check.h"
#include "runtime/files/atomic_file.h"
#include "runtime/files/files.h"
#include "sharding/checkpoint/state_rows.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSavePrefix = "save-";

std::string PartName(int64_t save, int rank) {
  return Format("{}{}-rank-{}.safetensors", kSavePrefix, save, rank);
}

// The save that a file belongs to; absent for other files.
std::optional<int64_t> ParseSave(const std::string& name) {
  if (!name.starts_with(kSavePrefix) || name.find(".safetensors") == std::string::npos) return {};
  int64_t save = 0;
  const char* begin = name.data() + kSavePrefix.size();
  const auto parsed = std::from_chars(begin, name.data() + name.size(), save);
  if (parsed.ec != std::errc() || *parsed.ptr != '-') return {};
  return save;
}

// fn(path, save) for the files of all saves in a folder.
template <typename Fn>
void ForEachSave(const std::string& folder, Fn&& fn) {
  for (const auto& entry : fs::directory_iterator(folder))
    if (const auto save = ParseSave(entry.path().filename().string())) fn(entry.path(), *save);
}

void RemoveOtherSaves(const std::string& folder, int64_t save) {
  std::vector<fs::path> old;
  ForEachSave(folder, [&](const fs::path& path, int64_t other) {
    if (other != save) old.push_back(path);
  });
  for (const fs::path& path : old) fs::remove(path);
}

// Whether this rank writes its copy of a data-parallel table: they take turns.
bool WritesCopy(const ShardingPlan& plan, const std::string& table, int rank) {
  const auto place = std::distance(plan.tables.begin(), plan.tables.find(table));
  return place % plan.world_size == rank;
}

// The `tensor`, whose checksums are put into `digits` when it is made. `digits` must not move.
StreamedTensor Summed(StreamedTensor tensor, std::string* digits) {
  return {tensor.dtype, tensor.shape,
          [make = std::move(tensor.make), digits](const StreamedTensor::Sink& sink) {
            Checksums sums;
            make([&](const void* bytes, int64_t count) {
              sums.Add(bytes, count);
              sink(bytes, count);
            });
            *digits = sums.Finish();
          }};
}

// The shards' description without checksums.
std::map<std::string, StoredTable> DescribeTables(const std::vector<ShardStreams>& shards) {
  std::map<std::string, StoredTable> tables;
  for (const ShardStreams& shard : shards) {
    std::vector<StoredState> states;
    for (const ShardStreams::State& s : shard.states)
      states.push_back({s.name, s.tensor.dtype, s.per_row});
    StoredTable& table = tables[shard.table];
    if (table.shards.empty()) {
      table.dtype = shard.weights.dtype;
      table.states = states;
    }
    TESSERA_CHECK(table.dtype == shard.weights.dtype && table.states == states,
                  "table {}: its shards differ in types or states", shard.table);
    table.shards.push_back(
        {.file = 0, .shard = shard.shard, .checksums = {}, .started = shard.started});
  }
  return tables;
}

void AddTensor(StreamedSafetensors& content, const std::string& name, StreamedTensor tensor,
               std::string* digits) {
  TESSERA_CHECK(content.tensors.emplace(name, Summed(std::move(tensor), digits)).second,
                "checkpoint: two tensors are called '{}'", name);
}

// A rank's file; when it is written, `part` gets the checksums.
StreamedSafetensors ContentOf(std::vector<ShardStreams> shards,
                              std::map<std::string, StreamedTensor> whole, CheckpointIndex& part) {
  StreamedSafetensors content;
  std::map<std::string, size_t> added;  // shards of each table
  for (ShardStreams& shard : shards) {
    StoredShard& stored = part.tables[shard.table].shards[added[shard.table]++];
    const auto add = [&](const std::string& name, StreamedTensor& tensor) {
      AddTensor(content, StoredName(shard.table, shard.shard, name), std::move(tensor),
                &stored.checksums[name]);
    };
    add(kWeightName, shard.weights);
    for (ShardStreams::State& state : shard.states) add(state.name, state.tensor);
  }
  for (auto& [name, tensor] : whole)
    AddTensor(content, name, std::move(tensor), &part.whole[name].checksums);
  return content;
}

}  // namespace

bool HoldsParts(const std::string& folder) {
  bool any = false;
  ForEachSave(folder, [&](const fs::path&, int64_t) { any = true; });
  return any;
}

int64_t NextSave(const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error || !fs::is_directory(folder))
    throw Error(Format("{}: cannot be made a folder: {}", folder,
                       error ? error.message() : "there is a file of that name"));
  int64_t last = 0;
  ForEachSave(folder, [&](const fs::path&, int64_t save) { last = std::max(last, save); });
  return last + 1;
}

ShardStreams MakeStreams(Context& ctx, const ShardTensors& shard) {
  const Shape whole{shard.shard.rows, shard.shard.columns}, per_row{shard.shard.rows};
  TESSERA_CHECK_EQ(shard.weights.shape(), whole, "table {}, {}: weights", shard.table, shard.shard);
  const auto stream = [&](const NamedTensor& state) {
    return shard.started ? StreamedRuns(state, shard.started->runs) : StreamedState(ctx, state);
  };
  ShardStreams streams{shard.table, shard.shard, stream(shard.Weights()), {}, shard.started};
  for (const OptimizerState& state : shard.states) {
    const bool is_per_row = state.tensor.rank() == 1;
    TESSERA_CHECK_EQ(state.tensor.shape(), is_per_row ? per_row : whole, "table {}, {}: {}",
                     shard.table, shard.shard, state.name);
    streams.states.push_back({state.name, is_per_row, stream(state)});
  }
  return streams;
}

bool IsWritten(const ShardingPlan& plan, const std::string& table, const Shard& shard, int rank) {
  const auto found = plan.tables.find(table);
  if (found == plan.tables.end())
    throw Error(Format("table {}: the plan of the checkpoint lacks it", table));
  if (shard.rows == 0) return false;
  return found->second.type != ShardingType::kDataParallel || WritesCopy(plan, table, rank);
}

std::string WritePart(const std::string& folder, int64_t save, int rank, const ShardingPlan& plan,
                      std::vector<ShardStreams> shards, std::map<std::string, StreamedTensor> whole,
                      std::map<std::string, StreamedTensor> own) {
  std::erase_if(shards, [&](const ShardStreams& shard) {
    return !IsWritten(plan, shard.table, shard.shard, rank);
  });
  if (rank != 0) whole.clear();
  whole.merge(own);
  TESSERA_CHECK(own.empty(), "checkpoint: two tensors are called '{}'", own.begin()->first);
  CheckpointIndex part;
  part.tables = DescribeTables(shards);
  const std::string name = PartName(save, rank), path = PathIn(folder, name);
  WriteSafetensors(path, ContentOf(std::move(shards), std::move(whole), part));
  part.files.push_back({name, static_cast<int64_t>(fs::file_size(path))});
  return PartToText(part);
}

void DiscardPart(const std::string& folder, int64_t save, int rank) noexcept {
  std::error_code ignored;
  fs::remove(PathIn(folder, PartName(save, rank)), ignored);
}

void CommitSave(const std::string& folder, int64_t save, const CheckpointInfo& info,
                const std::vector<std::string>& parts) {
  const CheckpointIndex index = MergeParts(save, info, parts);
  const std::string json = IndexToJson(index);
  AtomicFile file(PathIn(folder, kIndexName));
  file.Write(json.data(), std::ssize(json));
  SyncFolder(folder);
  file.Rename();
  // From here on the save counts. A failure below leaves files that the next save removes.
  try {
    SyncFolder(folder);
    RemoveOtherSaves(folder, save);
    RemoveLeftovers(folder);
  } catch (const std::exception&) {
  }
}

}  // namespace tessera
