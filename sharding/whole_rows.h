#ifndef TESSERA_SHARDING_WHOLE_ROWS_H_
#define TESSERA_SHARDING_WHOLE_ROWS_H_
// Sharded tables as whole tensors in memory: what a state dict of the unsharded model has of them.
// For files, in which no rank holds a whole table, see table_checkpoint.h.
#include <map>
#include <string>
#include <vector>

#include "runtime/named_parameter.h"
#include "runtime/tensor.h"
#include "sharding/checkpoint/move_shards.h"
#include "sharding/sharded_tables.h"

namespace tessera {

// Every table's rows, [E, D] of its data_type on ctx's device, on every rank, as
// parameter_prefix + table + ".weight". Takes as much memory on each as the tables without shards.
// Every rank calls.
std::vector<NamedTensor> WholeRows(Context& ctx, ShardedTables& tables,
                                   const std::string& parameter_prefix);

// Each rank takes its parts of the tables that `rows` has, by the same names, on any device. Every
// rank calls. REQUIRES: each has its table's shape and type.
void TakeWholeRows(Context& ctx, ShardedTables& tables, const std::string& parameter_prefix,
                   const std::map<std::string, Tensor>& rows);

namespace internal {

// A table of which each rank holds all: this one `weights`, or none, and `states`.
PlacedShards WholeOnEveryRank(const ShardedTables& tables, const BaseEmbeddingConfig& table,
                              Tensor weights, std::vector<OptimizerState> states);

}  // namespace internal
}  // namespace tessera
#endif  // TESSERA_SHARDING_WHOLE_ROWS_H_
