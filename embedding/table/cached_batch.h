#ifndef TESSERA_EMBEDDING_TABLE_CACHED_BATCH_H_
#define TESSERA_EMBEDDING_TABLE_CACHED_BATCH_H_
// A batch's rows in the row caches of a TableBatchedEmbedding's tables (cache/row_cache.h); empty
// where no table has a cache.
#include <functional>
#include <vector>

#include "embedding/cache/row_cache.h"
#include "sparse/keyed_jagged_tensor.h"

namespace tessera::internal {

struct TablesState;

class CachedBatch {
 public:
  CachedBatch() = default;
  // Prefetches. ids: what each feature reads; those of cached tables become slots.
  CachedBatch(Context& ctx, const TablesState& state, const KeyedJaggedTensor& kjt,
              std::vector<Tensor>& ids);

  // Before features and tables for update are made of the batch: slots may move.
  void Load(Context& ctx, const TablesState& state) const;
  // updated: tables with a rule were, unless frozen.
  void Release(Context& ctx, const TablesState& state, bool updated) const;

 private:
  std::vector<RowCache::Use> Uses(const TablesState& state, bool updated) const;

  std::vector<RowCache::Batch> of_table_;  // empty handles for tables without a cache
};

// Runs fn in the order of all caches' calls.
void InOrderOfCaches(Context& ctx, const TablesState& state, const std::function<void()>& fn);

}  // namespace tessera::internal
#endif  // TESSERA_EMBEDDING_TABLE_CACHED_BATCH_H_
