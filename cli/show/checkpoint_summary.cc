#include "cli/show/checkpoint_summary.h"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "cli/show/byte_progress.h"
#include "embedding/managed_collision/managed_collision_config.h"
#include "models/ranking_model.h"
#include "runtime/base/check.h"
#include "runtime/base/joined.h"
#include "runtime/base/natural_order.h"
#include "runtime/tensor.h"
#include "sharding/checkpoint/checkpoint.h"
#include "train/checkpoint/rank_chain.h"
#include "train/checkpoint/saved_form.h"
#include "train/checkpoint/whole_tables.h"
#include "train/config/train_config.h"

namespace tessera::cli {
namespace {

// Bytes of the optimizer state of each parameter.
std::map<std::string, int64_t> StateBytes(const Checkpoint& checkpoint) {
  std::map<std::string, int64_t> bytes;
  const std::string prefix = kOptimizerPrefix;
  for (const auto& [name, tensor] : checkpoint.tensors)
    if (name.starts_with(prefix))
      bytes[name.substr(prefix.size(), name.rfind('.') - prefix.size())] += tensor.nbytes();
  return bytes;
}

// Counts what is known of raw ids to the table that it belongs to.
void AddIds(const std::string& name, int64_t count,
            const std::function<std::vector<int64_t>()>& read, CheckpointSummary& summary) {
  if (!IsIdState(name)) return;
  for (TableSummary& table : summary.tables)
    if (name.starts_with(RankingModel::kTablePrefix + table.name + "._"))
      table.raw_ids = table.raw_ids.value_or(0) + CountIdsIn(name, count, read);
}

void AddConfig(const std::string& path, CheckpointSummary& summary) {
  if (summary.config.empty()) return;
  const TrainConfig config = ParseTrainConfig(summary.config, path);
  summary.dense_optimizer = config.dense_optimizer.name;
  summary.prepared = config.data.prepared;
  for (TableSummary& table : summary.tables)
    for (const EmbeddingBagConfig& c : config.tables)
      if (c.name == table.name) {
        table.optimizer = RuleName(c.optimizer);
        table.declared_rows = c.num_embeddings;
      }
}

CheckpointSummary OfProgram(const Checkpoint& checkpoint) {
  CheckpointSummary summary{.progress = checkpoint.progress, .of_program = true};
  std::map<std::string, TensorSummary> by_name;
  for (const auto& [name, tensor] : checkpoint.tensors)
    if (!IsRunState(name))
      by_name[name] = {.name = name,
                       .dtype = ToString(tensor.dtype),
                       .shape = Format("{}", tensor.shape),
                       .bytes = tensor.nbytes()};
  for (const auto& [name, tensor] : checkpoint.tensors) {
    const auto of = by_name.find(ParameterOfState(name));
    if (of == by_name.end()) continue;
    of->second.states.push_back(name.substr(name.rfind('.') + 1));
    of->second.state_bytes += tensor.nbytes();
  }
  for (auto& [name, tensor] : by_name) summary.tensors.push_back(std::move(tensor));
  return summary;
}

CheckpointSummary OfFile(const std::string& path) {
  const Checkpoint checkpoint = ReadCheckpoint(path);
  if (IsOfProgram(checkpoint)) return OfProgram(checkpoint);
  CheckpointSummary summary{.config = checkpoint.config,
                            .progress = checkpoint.progress,
                            .has_optimizer_state = checkpoint.has_optimizer_state()};
  summary.chain = checkpoint.chain;
  std::map<std::string, int64_t> state_bytes = StateBytes(checkpoint);
  for (const auto& [name, tensor] : checkpoint.tensors) {
    if (IsRunState(name)) continue;
    const std::string table = TableOf(name);
    if (table.empty() || tensor.shape.rank() != 2) {
      summary.dense_parameters += tensor.shape.numel();
      summary.dense_bytes += tensor.nbytes();
      summary.dense_state_bytes += state_bytes[name];
      continue;
    }
    summary.tables.push_back({.name = table,
                              .dtype = ToString(tensor.dtype),
                              .rows = tensor.shape[0],
                              .dim = tensor.shape[1],
                              .bytes = tensor.nbytes(),
                              .state_bytes = state_bytes[name]});
  }
  Context ctx({.threads = 1});
  for (const CheckpointEntry& entry : checkpoint.tensors)
    AddIds(
        entry.name, entry.tensor.shape.numel(),
        [&] { return checkpoint.Read(ctx, entry).ToVector<int64_t>(); }, summary);
  AddConfig(path, summary);
  return summary;
}

// The bytes that files hold of a tensor of the table.
int64_t BytesInFiles(const StoredTable& table, DType dtype, bool per_row) {
  int64_t bytes = 0;
  for (const StoredShard& stored : table.shards)
    bytes += stored.rows_in_file() * (per_row ? 1 : stored.shard.columns) * SizeOf(dtype);
  return bytes;
}

int64_t StateBytes(const StoredTable& table) {
  int64_t bytes = 0;
  for (const StoredState& state : table.states)
    bytes += BytesInFiles(table, state.dtype, state.per_row);
  return bytes;
}

void AddDense(ShardedCheckpoint& checkpoint, CheckpointSummary& summary) {
  Context ctx({.threads = 1});
  for (const auto& [name, stored] : checkpoint.index().whole) {
    const Tensor tensor = checkpoint.ReadWhole(ctx, name);
    (IsRunState(name) ? summary.dense_state_bytes : summary.dense_bytes) += tensor.nbytes();
    if (!IsRunState(name)) summary.dense_parameters += tensor.numel();
    AddIds(
        name, tensor.numel(), [&] { return tensor.ToVector<int64_t>(); }, summary);
  }
}

// Throws Error if the tables' bytes are not the saved ones.
void VerifyTables(ShardedCheckpoint& checkpoint) {
  int64_t total = 0, done = 0;
  for (const auto& [name, bytes] : checkpoint.index().files) total += bytes;
  ByteProgress progress;
  const auto read = [&](const std::string& table, const Shard& shard, const std::string& tensor) {
    checkpoint.Stream(table, shard, tensor, checkpoint.Started(table, shard))
        .make([&](const void*, int64_t count) { progress.Show(done += count, total); });
  };
  for (const auto& [table, stored] : checkpoint.index().tables)
    for (const StoredShard& shard : stored.shards) {
      read(table, shard.shard, kWeightName);
      for (const StoredState& state : stored.states) read(table, shard.shard, state.name);
    }
}

CheckpointSummary OfFolder(const std::string& path) {
  ShardedCheckpoint checkpoint = OpenFolderOfRanks(path);
  VerifyTables(checkpoint);
  const CheckpointInfo& info = checkpoint.info();
  const auto config = info.metadata.find("config");
  CheckpointSummary summary{.ranks = info.plan.world_size,
                            .config = config == info.metadata.end() ? "" : config->second,
                            .progress = ParseProgress(info.metadata),
                            .has_optimizer_state = HasOptimizerState(checkpoint.index())};
  for (const CheckpointTable& table : info.tables) {
    const StoredTable& stored = checkpoint.index().tables.at(table.shape.name);
    summary.tables.push_back({.name = table.shape.name,
                              .dtype = ToString(stored.dtype),
                              .optimizer = table.rule,
                              .sharding = ToString(info.plan.tables.at(table.shape.name).type),
                              .rows = table.shape.rows,
                              .dim = table.shape.dim,
                              .bytes = BytesInFiles(stored, stored.dtype, /*per_row=*/false),
                              .state_bytes = StateBytes(stored)});
  }
  if (DetectForm(path) == SavedForm::kRankChains) summary.chain = PositionOfRanks(path);
  AddDense(checkpoint, summary);
  AddConfig(path, summary);
  return summary;
}

}  // namespace

std::string TableOf(const std::string& parameter) {
  const std::string prefix = RankingModel::kTablePrefix, suffix = ".weight";
  if (!parameter.starts_with(prefix) || !parameter.ends_with(suffix)) return "";
  return parameter.substr(prefix.size(), parameter.size() - prefix.size() - suffix.size());
}

std::string ProgressKeys() {
  std::vector<std::string> keys;
  for (const auto& [key, value] : CheckpointMetadata({}, ""))
    if (key != "format" && key != "config" && key != "max_counter") keys.push_back(key);
  return internal::Joined(keys);
}

CheckpointSummary SummarizeCheckpoint(const std::string& path) {
  CheckpointSummary summary = IsOfRanks(DetectForm(path)) ? OfFolder(path) : OfFile(path);
  std::ranges::stable_sort(summary.tables, NaturalLess(), &TableSummary::name);
  return summary;
}

}  // namespace tessera::cli
