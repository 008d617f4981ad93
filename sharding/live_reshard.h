#ifndef TESSERA_SHARDING_LIVE_RESHARD_H_
#define TESSERA_SHARDING_LIVE_RESHARD_H_
// Tables under one plan to the same tables under another, without a file: what a planner that has
// measured does with its new plan.
//
// Table by table, the rectangles that an old and a new shard share go from the one's rank to the
// other's: one exchange for weights, one for states, so that there is never more than one table on
// its way. States of one number a row follow checkpoint_rows.h. The bits are those of a checkpoint
// saved by the one and loaded by the other.
#include "runtime/context.h"
#include "sharding/sharded_tables.h"

namespace tessera {

// Rows, optimizer states and step counter of `from`, which stays as it is, into `to`. Every rank
// calls. REQUIRES: both on the same ranks. Throws Error, before anything has changed, unless the
// tables are the same: names, shapes, row types and rules.
void ReshardTables(Context& ctx, ShardedTables& from, ShardedTables& to);

}  // namespace tessera
#endif  // TESSERA_SHARDING_LIVE_RESHARD_H_
