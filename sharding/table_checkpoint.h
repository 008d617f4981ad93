#ifndef TESSERA_SHARDING_TABLE_CHECKPOINT_H_
#define TESSERA_SHARDING_TABLE_CHECKPOINT_H_
// Sharded tables to and from the checkpoints of sharding/checkpoint/checkpoint.h.
#include <map>
#include <span>
#include <string>
#include <vector>

#include "runtime/context.h"
#include "runtime/named_parameter.h"
#include "sharding/checkpoint/checkpoint.h"
#include "sharding/sharded_tables.h"

namespace tessera {

// Tensors that this rank holds; they share memory, or the file, with the tables.
std::vector<ShardTensors> ShardTensorsOf(const ShardedTables& tables);

// Returns what a checkpoint says about the tables. parameter_prefix + table + ".weight" is a
// table's name in an unsharded model. Every rank calls.
CheckpointInfo CheckpointInfoOf(const ShardedTables& tables, const std::string& parameter_prefix,
                                std::map<std::string, std::string> metadata = {});

// Saves the tables, `whole`, which is the same on all ranks, and `own`, which this rank alone has.
// Every rank calls; see SaveShardedCheckpoint.
void SaveTables(Context& ctx, const std::string& folder, ShardedTables& tables,
                const std::string& parameter_prefix, std::span<const NamedTensor> whole = {},
                std::map<std::string, std::string> metadata = {},
                std::span<const NamedTensor> own = {});

// Loads rows, optimizer states and step counter, saved under any plan by any number of ranks;
// without `with_states` rows alone, whatever rule the tables had. Throws Error, and changes
// nothing, for a checkpoint that does not fit.
void LoadTables(Context& ctx, ShardedCheckpoint& checkpoint, ShardedTables& tables,
                bool with_states = true);

}  // namespace tessera
#endif  // TESSERA_SHARDING_TABLE_CHECKPOINT_H_
