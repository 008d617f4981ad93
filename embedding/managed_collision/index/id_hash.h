#ifndef TESSERA_EMBEDDING_MANAGED_COLLISION_INDEX_ID_HASH_H_
#define TESSERA_EMBEDDING_MANAGED_COLLISION_INDEX_ID_HASH_H_
// The hash of an id, and numbers in [0, size) from it.
#include "embedding/lookup/row_ops.h"

namespace tessera::internal {

TESSERA_HD uint64_t HashId(int64_t id) { return MixBits(static_cast<uint64_t>(id)); }

TESSERA_HD int64_t HashBelow(int64_t id, int64_t size) {
  return static_cast<int64_t>(HashId(id) % static_cast<uint64_t>(size));
}

// Another one, so that ids that share a hash of the first do not share all.
TESSERA_HD int64_t ResidualHashBelow(int64_t id, int64_t size) {
  return HashBelow(id ^ int64_t{0x5bd1e995}, size);
}

}  // namespace tessera::internal
#endif  // TESSERA_EMBEDDING_MANAGED_COLLISION_INDEX_ID_HASH_H_
