#ifndef TESSERA_SHARDING_MANAGED_COLLISION_MANAGED_COLLISION_CHECKPOINT_H_
#define TESSERA_SHARDING_MANAGED_COLLISION_MANAGED_COLLISION_CHECKPOINT_H_
// Sharded tables and the modules of their parts, to and from the checkpoints of
// sharding/checkpoint/checkpoint.h: the state of each part is a set of tensors that no plan cuts,
//
//   <prefix>_managed_collision_modules.<table>._parts.<part>.<name>
//
// written by the rank that has the part, read by the one that gets it. Rows and their states are
// those of row-wise tables. So a checkpoint of R ranks is one of any other number of ranks, as long
// as its plan keeps parts whole, and training goes on with the same bits.
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "runtime/context.h"
#include "sharding/managed_collision/sharded_managed_collision_modules.h"
#include "sharding/table_checkpoint.h"

namespace tessera {

// Saves tables like SaveTables, and the modules under the same prefix.
void SaveManagedTables(Context& ctx, const std::string& folder, ShardedTables& tables,
                       const ShardedManagedCollisionModules& modules,
                       const std::string& parameter_prefix, std::span<const NamedTensor> whole = {},
                       std::map<std::string, std::string> metadata = {});

// Loads tables like LoadTables, and the modules. Throws Error, and changes nothing, for tables that
// do not fit, for parts that are missing and for a table that was saved in another number of parts.
// A module that refuses its state is found when the tables have changed.
void LoadManagedTables(Context& ctx, ShardedCheckpoint& checkpoint, ShardedTables& tables,
                       ShardedManagedCollisionModules& modules,
                       const std::string& parameter_prefix);

// Reads what was saved of this rank's parts of all tables: tensors
// "<prefix_of(table)>_parts.<part>.<name>". Throws Error as LoadManagedTables does.
std::vector<NamedTensor> ReadManagedParts(
    Context& ctx, ShardedCheckpoint& checkpoint, const ShardedManagedCollisionModules& modules,
    const std::function<std::string(const std::string& table)>& prefix_of);

}  // namespace tessera
#endif  // TESSERA_SHARDING_MANAGED_COLLISION_MANAGED_COLLISION_CHECKPOINT_H_
