#include "sharding/table_checkpoint.h"

#include <algorithm>
#include <utility>

#include "embedding/table/fused_states.h"
#include "runtime/base/check.h"
#include "sharding/checkpoint/save_checkpoint.h"

namespace tessera {

std::vector<ShardTensors> ShardTensorsOf(const ShardedTables& tables) {
  std::vector<ShardTensors> shards;
  for (const HeldShard& held : tables.shards()) {
    const TableRows rows = held.tables->rows();
    const NamedTensor weights = rows.part(held.index, 0);
    ShardTensors shard{held.table, held.shard,     weights.tensor,
                       {},         weights.stored, rows.started(held.index)};
    for (int p = 1; p < rows.num_parts(held.index); ++p)
      shard.states.push_back(rows.part(held.index, p));
    shards.push_back(std::move(shard));
  }
  return shards;
}

CheckpointInfo CheckpointInfoOf(const ShardedTables& tables, const std::string& parameter_prefix,
                                std::map<std::string, std::string> metadata) {
  CheckpointInfo info{.plan = tables.plan(), .tables = {}, .metadata = std::move(metadata)};
  for (const BaseEmbeddingConfig& t : tables.tables())
    info.tables.push_back({.shape = {t.name, t.num_embeddings, t.embedding_dim},
                           .parameter = parameter_prefix + t.name + ".weight",
                           .rule = RuleName(t.optimizer),
                           .iter = tables.iter(),
                           .max_counter = internal::MaxCounterOf(t.optimizer)});
  return info;
}

void SaveTables(Context& ctx, const std::string& folder, ShardedTables& tables,
                const std::string& parameter_prefix, std::span<const NamedTensor> whole,
                std::map<std::string, std::string> metadata, std::span<const NamedTensor> own) {
  tables.Flush(ctx);
  SaveShardedCheckpoint(ctx, tables.comm(), folder,
                        CheckpointInfoOf(tables, parameter_prefix, std::move(metadata)),
                        ShardTensorsOf(tables), whole, own);
}

void LoadTables(Context& ctx, ShardedCheckpoint& checkpoint, ShardedTables& tables,
                bool with_states) {
  int64_t iter = 0;
  for (const BaseEmbeddingConfig& t : tables.tables()) {
    const CheckpointTable& saved = checkpoint.table(t.name);
    TESSERA_CHECK(!with_states || saved.rule == RuleName(t.optimizer),
                  "{}: rule of table {}: expected {}, got {}", checkpoint.folder(), t.name,
                  RuleName(t.optimizer), saved.rule);
    iter = std::max(iter, saved.iter);
  }
  tables.Flush(ctx);
  std::vector<ShardTensors> shards = ShardTensorsOf(tables);
  if (!with_states)
    for (ShardTensors& shard : shards) shard.states.clear();
  LoadShards(ctx, checkpoint, shards);
  tables.ForgetOldRows(ctx);
  if (!with_states) return;
  tables.set_iter(iter);
  for (int t = 0; t < std::ssize(tables.tables()); ++t)
    tables.set_max_counter(
        t, checkpoint.table(tables.tables()[static_cast<size_t>(t)].name).max_counter);
}

}  // namespace tessera
