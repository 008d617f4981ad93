#ifndef TESSERA_EMBEDDING_UPDATE_EXECUTOR_TABLE_H_
#define TESSERA_EMBEDDING_UPDATE_EXECUTOR_TABLE_H_
// Private to embedding/update*: an UpdateTable as the executors of every device take it.
#include "embedding/update/row_update.h"
#include "embedding/update/update.h"

namespace tessera::internal {

// Without a rule: no states.
ExecutorTable MakeExecutorTable(const UpdateTable& table, int64_t step);

// The same table, for its summed gradients as f32.
UpdateTable WithoutRule(const UpdateTable& table);

}  // namespace tessera::internal
#endif  // TESSERA_EMBEDDING_UPDATE_EXECUTOR_TABLE_H_
