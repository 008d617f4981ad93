#ifndef TESSERA_SHARDING_LIVE_RESHARD_H_
#define TESSERA_SHARDING_LIVE_RESHARD_H_
// Moves tables from one plan to another while a program runs, without a file: a planner that has
// measured the machine may have found a better plan.
//
// Table by table, the rectangle that an old and a new shard have in common is sent from the old
// one's rank to the new one's: one exchange for weights, one for states, so that buffers never hold
// more than one table. States of one number a row follow checkpoint_rows.h. The bits are those of a
// checkpoint saved under the old plan and loaded under the new one.
#include "runtime/context.h"
#include "sharding/sharded_tables.h"

namespace tessera {

// Copies rows, optimizer states and the step counter of `from` into `to`; `from` stays as it is.
// Every rank calls. REQUIRES: both on the same ranks. Throws Error, before anything has changed,
// unless the tables are the same: names, shapes, row types and rules.
void ReshardTables(Context& ctx, ShardedTables& from, ShardedTables& to);

}  // namespace tessera
#endif  // TESSERA_SHARDING_LIVE_RESHARD_H_
