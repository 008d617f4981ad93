#ifndef TESSERA_EMBEDDING_TABLE_OWN_BATCHES_H_
#define TESSERA_EMBEDDING_TABLE_OWN_BATCHES_H_
// A KJT in the form of TorchRec's variable batch.
#include "sparse/keyed_jagged_tensor.h"

namespace tessera::internal {

// Returns the same bags with a batch for each key, of one rank, and no inverse indices.
KeyedJaggedTensor WithOwnBatches(Context& ctx, const KeyedJaggedTensor& kjt);

}  // namespace tessera::internal
#endif  // TESSERA_EMBEDDING_TABLE_OWN_BATCHES_H_
