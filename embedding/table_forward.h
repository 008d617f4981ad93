#ifndef TESSERA_EMBEDDING_TABLE_FORWARD_H_
#define TESSERA_EMBEDDING_TABLE_FORWARD_H_
// One forward of a TableBatchedEmbedding, recorded if a tape records.
#include <memory>

#include "embedding/table/table_batch.h"
#include "embedding/table_batched_embedding.h"
#include "runtime/context.h"

namespace tessera::internal {

// Does what TableBatchedEmbedding::ForwardAll promises.
EmbeddingOutputs ForwardTables(Context& ctx, const std::shared_ptr<TablesState>& state,
                               const KeyedJaggedTensor& kjt);

}  // namespace tessera::internal
#endif  // TESSERA_EMBEDDING_TABLE_FORWARD_H_
