#include "embedding/table_caches.h"

#include <algorithm>

#include "embedding/storage/disk_table.h"
#include "embedding/table/table_batch.h"

namespace tessera {

using internal::EmbeddingTable;

void TableCaches::Prefetch(Context& ctx, const KeyedJaggedTensor& kjt) const {
  const auto cached = [](const EmbeddingTable& table) { return table.cache != nullptr; };
  if (std::none_of(state_->tables.begin(), state_->tables.end(), cached)) return;
  state_->prefetched.push_back({kjt, std::make_shared<internal::TableBatch>(ctx, *state_, kjt)});
}

void TableCaches::ForgetPrefetched() const { state_->prefetched.clear(); }

void TableCaches::Flush(Context& ctx) const {
  TESSERA_CHECK(state_->updates_pending == 0, "Flush between a training forward and its backward");
  for (const EmbeddingTable& table : state_->tables)
    if (table.cache) table.cache->Flush(ctx);
}

bool TableCaches::holds_updates(int index) const { return state_->at(index).cache_holds_updates(); }

void TableCaches::Reset(Context& ctx) const {
  for (const EmbeddingTable& table : state_->tables)
    if (table.cache) table.cache->Reset(ctx);
}

CacheStats TableCaches::StatsSync(Context& ctx, int index) const {
  const EmbeddingTable& table = state_->at(index);
  return table.cache ? table.cache->StatsSync(ctx) : CacheStats{};
}

int64_t TableCaches::lines(int index) const {
  const EmbeddingTable& table = state_->at(index);
  return table.cache ? table.cache->lines() : 0;
}

DiskStats TableCaches::disk_stats(int index) const {
  const EmbeddingTable& table = state_->at(index);
  return table.disk ? table.disk->stats() : DiskStats{};
}

}  // namespace tessera
