#include "sharding/managed_collision/sharded_managed_collision_modules.h"

#include <algorithm>
#include <map>
#include <utility>

namespace tessera {
namespace {

// The config of a rank's shard as a table of its own, which the rank's streams read.
BaseEmbeddingConfig OfShard(const BaseEmbeddingConfig& table, const DistRank& rank, size_t held) {
  BaseEmbeddingConfig config;
  config.name = table.name;
  config.num_embeddings = rank.tables[held].shard.rows;
  for (const DistBlock& block : rank.blocks)
    if (block.table == static_cast<int>(held))
      config.feature_names.push_back(std::to_string(block.stream));
  return config;
}

}  // namespace

std::vector<int64_t> CheckedNumParts(const std::vector<ShardedManagedTable>& managed,
                                     const std::vector<BaseEmbeddingConfig>& tables) {
  std::map<std::string, int64_t> parts;
  for (const ShardedManagedTable& m : managed)
    TESSERA_CHECK(parts.emplace(m.table, m.num_parts).second && m.num_parts > 0 && m.make,
                  "managed collision: table {}: expected it once, with parts and a function that "
                  "makes their modules",
                  m.table);
  std::vector<int64_t> num_parts;
  std::vector<BaseEmbeddingConfig> remapped;
  for (const BaseEmbeddingConfig& table : tables) {
    const auto found = parts.find(table.name);
    num_parts.push_back(found == parts.end() ? 0 : found->second);
    if (found == parts.end()) continue;
    TESSERA_CHECK(table.index_remap == nullptr,
                  "managed collision: table {} is pruned: its ids have been remapped", table.name);
    remapped.push_back(table);
    parts.erase(found);
  }
  TESSERA_CHECK(parts.empty(), "managed collision: modules for {}, which is no table",
                parts.begin()->first);
  internal::CheckReadOnce(remapped);
  return num_parts;
}

ShardedManagedCollisionModules::ShardedManagedCollisionModules(
    Context& ctx, const std::vector<ShardedManagedTable>& managed,
    const std::vector<BaseEmbeddingConfig>& tables, const DistLayout& layout, int rank) {
  std::map<std::string, uint64_t> seeds;  // on every rank, whatever it has
  for (const ShardedManagedTable& m : managed) seeds[m.table] = TakeSeed(ctx);
  const DistRank& mine = layout.ranks[static_cast<size_t>(rank)];
  std::vector<BaseEmbeddingConfig> configs;
  std::vector<ManagedTable> modules;
  for (size_t held = 0; held < mine.tables.size(); ++held) {
    const auto t = static_cast<size_t>(mine.tables[held].table);
    if (!layout.HasParts(mine.tables[held].table)) continue;
    const std::string& name = tables[t].name;
    const auto found = std::find_if(managed.begin(), managed.end(),
                                    [&](const ShardedManagedTable& m) { return m.table == name; });
    TESSERA_CHECK(found != managed.end(), "managed collision: no modules for table {}", name);
    const Shard& shard = mine.tables[held].shard;
    const HashParts& parts = layout.parts[t];
    tables_.push_back(name);
    modules_.push_back(std::make_shared<PartitionedManagedCollisionModule>(
        ctx, parts, shard.row_offset / parts.rows_a_part,
        (shard.row_offset + shard.rows) / parts.rows_a_part, found->make, seeds[name]));
    modules.push_back({name, modules_.back()});
    configs.push_back(OfShard(tables[t], mine, held));
  }
  collection_ =
      std::make_unique<ManagedCollisionCollection>(std::move(modules), std::move(configs));
}

void ShardedManagedCollisionModules::Remap(Context& ctx, InputDist& input) {
  const KeyedJaggedTensor raw = input.received().kjt;
  input.SetRemapped(tables_.empty() ? raw : collection_->Forward(ctx, raw));
}

void ShardedManagedCollisionModules::Evict(
    Context& ctx, const std::function<void(const std::string& table, const Tensor& rows)>& fn) {
  for (size_t t = 0; t < tables_.size(); ++t)
    modules_[t]->EvictTo(ctx, [&](const Tensor& rows) { fn(tables_[t], rows); });
}

PartitionedManagedCollisionModule& ShardedManagedCollisionModules::module(
    const std::string& table) const {
  const auto found = std::find(tables_.begin(), tables_.end(), table);
  TESSERA_CHECK(found != tables_.end(), "managed collision: this rank has no part of table {}",
                table);
  return *modules_[static_cast<size_t>(found - tables_.begin())];
}

std::vector<NamedTensor> ShardedManagedCollisionModules::StateDict(
    Context& ctx, const std::string& prefix) const {
  return collection_->StateDict(ctx, prefix);
}

void ShardedManagedCollisionModules::LoadStateDict(Context& ctx,
                                                   const std::vector<NamedTensor>& tensors,
                                                   const std::string& prefix) {
  collection_->LoadStateDict(ctx, tensors, prefix);
}

}  // namespace tessera
