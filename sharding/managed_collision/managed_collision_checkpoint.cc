#include "sharding/managed_collision/managed_collision_checkpoint.h"

#include <utility>

#include "runtime/base/check.h"

namespace tessera {
namespace {

// The names of a part's tensors.
std::vector<std::string> SavedNames(const CheckpointIndex& index, const std::string& prefix) {
  std::vector<std::string> names;
  for (auto it = index.whole.lower_bound(prefix);
       it != index.whole.end() && it->first.starts_with(prefix); ++it)
    names.push_back(it->first);
  return names;
}

// The saved state of this rank's parts of a table.
std::vector<NamedTensor> ReadParts(Context& ctx, ShardedCheckpoint& checkpoint,
                                   const std::string& table_prefix, const std::string& table,
                                   const PartitionedManagedCollisionModule& module) {
  const int64_t all = module.parts().num_parts;
  TESSERA_CHECK(SavedNames(checkpoint.index(), table_prefix + PartPrefix(all)).empty(),
                "{}: table {} was saved in more than {} parts by hash", checkpoint.folder(), table,
                all);
  TESSERA_CHECK(!SavedNames(checkpoint.index(), table_prefix + PartPrefix(all - 1)).empty(),
                "{}: table {} was not saved in {} parts by hash", checkpoint.folder(), table, all);
  std::vector<NamedTensor> tensors;
  for (int64_t part = module.first_part(); part < module.first_part() + module.num_parts(); ++part)
    for (const std::string& name : SavedNames(checkpoint.index(), table_prefix + PartPrefix(part)))
      tensors.push_back({name, checkpoint.ReadWhole(ctx, name)});
  return tensors;
}

}  // namespace

std::vector<NamedTensor> ReadManagedParts(
    Context& ctx, ShardedCheckpoint& checkpoint, const ShardedManagedCollisionModules& modules,
    const std::function<std::string(const std::string& table)>& prefix_of) {
  std::vector<NamedTensor> states;
  for (const std::string& table : modules.tables())
    for (NamedTensor& tensor :
         ReadParts(ctx, checkpoint, prefix_of(table), table, modules.module(table)))
      states.push_back(std::move(tensor));
  return states;
}

void SaveManagedTables(Context& ctx, const std::string& folder, ShardedTables& tables,
                       const ShardedManagedCollisionModules& modules,
                       const std::string& parameter_prefix, std::span<const NamedTensor> whole,
                       std::map<std::string, std::string> metadata) {
  const std::vector<NamedTensor> own = modules.StateDict(ctx, parameter_prefix);
  SaveTables(ctx, folder, tables, parameter_prefix, whole, std::move(metadata), own);
}

void LoadManagedTables(Context& ctx, ShardedCheckpoint& checkpoint, ShardedTables& tables,
                       ShardedManagedCollisionModules& modules,
                       const std::string& parameter_prefix) {
  const std::vector<NamedTensor> states = ReadManagedParts(
      ctx, checkpoint, modules,
      [&](const std::string& table) { return internal::StatePrefix(parameter_prefix, table); });
  LoadTables(ctx, checkpoint, tables);
  modules.LoadStateDict(ctx, states, parameter_prefix);
}

}  // namespace tessera
