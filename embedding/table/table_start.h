#ifndef TESSERA_EMBEDDING_TABLE_TABLE_START_H_
#define TESSERA_EMBEDDING_TABLE_TABLE_START_H_
// How a table's rows start that are made when they are first read (embedding/storage/), and which
// tables in memory have such rows.
#include "embedding/config/embedding_configs.h"
#include "embedding/storage/row_start.h"
#include "optim/any_rule.h"
#include "runtime/context.h"

namespace tessera::internal {

// Whether the rule works on whole tables, or renews numbers from all rows, when a training forward
// begins (rule_sweeps.h).
bool ActsBeforeLookup(const AnyRule& rule);

// The number of the state that is a copy of the rows after `steps` steps, or -1. A row that starts
// then starts with its copy; other states start 0. This is the slow copy of EnsembleRowwiseAdagrad
// from the first step on that makes it.
int CopiedState(const AnyRule& rule, int64_t steps);

// Whether the table, where it has all rows from the start (PlaceInTable::all_rows), takes memory
// for them as they come into use: it grows, lies in host memory, starts uniform and has a rule that
// changes rows which batches name, and no others. Else it takes memory for all; the bits are the
// same.
bool CanTakeRowsOnUse(const BaseEmbeddingConfig& config);
inline bool TakesRowsOnUse(const Context& ctx, const BaseEmbeddingConfig& config) {
  return ctx.device() == Device::Cpu() && CanTakeRowsOnUse(config);
}

// The first values of the table's rows. Takes a sequence of ctx.random() unless it is a shard's.
RowStart StartOf(Context& ctx, const BaseEmbeddingConfig& config);

}  // namespace tessera::internal
#endif  // TESSERA_EMBEDDING_TABLE_TABLE_START_H_
