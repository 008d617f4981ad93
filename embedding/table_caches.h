#ifndef TESSERA_EMBEDDING_TABLE_CACHES_H_
#define TESSERA_EMBEDDING_TABLE_CACHES_H_
// The row caches of a TableBatchedEmbedding, which tables at the locations kManagedCaching and
// kDisk have. Calls do nothing for other tables.
#include <memory>
#include <utility>

#include "embedding/cache/row_cache.h"
#include "embedding/storage/disk_stats.h"
#include "sparse/keyed_jagged_tensor.h"

namespace tessera {

namespace internal {
struct TablesState;
}

// A view that TableBatchedEmbedding::caches() returns; it shares the tables.
class TableCaches {
 public:
  explicit TableCaches(std::shared_ptr<internal::TablesState> state) : state_(std::move(state)) {}

  // Checks the bounds of `kjt` and brings its rows into the caches (cache/row_cache.h), ahead of a
  // forward of the same `kjt` (SameFeatures). Any number of batches may be prefetched; their
  // training forwards must come in the same order. On a context of its own it runs beside the
  // training of earlier batches; that context must wait for the one that made the ids. A forward of
  // a batch that was not prefetched brings its rows itself.
  void Prefetch(Context& ctx, const KeyedJaggedTensor& kjt) const;
  // Forgets the batches that were prefetched and wait for their forward.
  void ForgetPrefetched() const;
  // Writes changed rows back, so that the tables' weight() and optimizer_states() are up to date.
  // REQUIRES: no update is pending.
  void Flush(Context& ctx) const;
  // Whether the table's cache holds updates for Flush to write.
  bool holds_updates(int index) const;
  // Forgets what the caches hold: after Flush, before weight() or optimizer_states() are written.
  // Throws Error while a prefetched batch waits for its forward or update.
  void Reset(Context& ctx) const;

  // All 0 for a table without a cache. Waits for the device.
  CacheStats StatsSync(Context& ctx, int index) const;
  int64_t lines(int index) const;  // rows that the table's cache has room for; 0 without one
  // All 0 for a table that does not lie on disk.
  DiskStats disk_stats(int index) const;

 private:
  std::shared_ptr<internal::TablesState> state_;
};

}  // namespace tessera
#endif  // TESSERA_EMBEDDING_TABLE_CACHES_H_
