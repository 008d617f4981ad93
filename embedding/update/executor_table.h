#ifndef TESSERA_EMBEDDING_UPDATE_EXECUTOR_TABLE_H_
#define TESSERA_EMBEDDING_UPDATE_EXECUTOR_TABLE_H_
// An UpdateTable as the executors of every device take it.
#include "embedding/update/row_update.h"
#include "embedding/update/update.h"

namespace tessera::internal {

// Makes the executors' view of a table; one without a rule has no states.
ExecutorTable MakeExecutorTable(const UpdateTable& table, int64_t step);

// The type of the gradients of a table's rows, which is the same for all its features.
DType GradientTypeOf(const LookupArgs& lookup, const UpdateTable& table);

// Returns the table with its summed gradients, as f32, in place of a rule.
UpdateTable WithoutRule(const UpdateTable& table);

}  // namespace tessera::internal
#endif  // TESSERA_EMBEDDING_UPDATE_EXECUTOR_TABLE_H_
