#ifndef TESSERA_EMBEDDING_ROW_TABLE_H_
#define TESSERA_EMBEDDING_ROW_TABLE_H_
// Private to embedding/update*: an UpdateTable as the executors of all devices take it.
#include "embedding/row_update.h"
#include "embedding/update.h"

namespace tessera::internal {

// Without a rule: no states.
RowTable MakeRowTable(const UpdateTable& table, int64_t step);

// The same table, for its summed gradients as f32.
UpdateTable WithoutRule(const UpdateTable& table);

}  // namespace tessera::internal
#endif  // TESSERA_EMBEDDING_ROW_TABLE_H_
