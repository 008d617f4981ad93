#include "embedding/table/cached_batch.h"

#include <set>

#include "embedding/table/table_batch.h"

namespace tessera::internal {
namespace {

bool AnyCache(const TablesState& state) {
  for (const EmbeddingTable& table : state.tables)
    if (table.cache) return true;
  return false;
}

// Features of table `index`, in order.
std::vector<size_t> FeaturesOf(const TablesState& state, size_t index) {
  std::vector<size_t> features;
  for (size_t f = 0; f < state.features.size(); ++f)
    if (static_cast<size_t>(state.features[f].table) == index) features.push_back(f);
  return features;
}

}  // namespace

CachedBatch::CachedBatch(Context& ctx, const TablesState& state, const KeyedJaggedTensor& kjt,
                         std::vector<Tensor>& ids) {
  if (!AnyCache(state)) return;
  of_table_.resize(state.tables.size());
  // One tensor for the slots of many tables, as long as they read different keys.
  Tensor slots;
  std::set<int> keys;
  std::vector<RowCache::Request> requests;
  for (size_t t = 0; t < state.tables.size(); ++t) {
    if (!state.tables[t].cache) continue;
    const std::vector<size_t> features = FeaturesOf(state, t);
    std::vector<CachedIds> cached;
    bool taken = !slots.defined();
    for (const size_t f : features) {
      const int key = kjt.IndexOf(state.features[f].key);
      taken = taken || keys.contains(key);
      const auto k = static_cast<size_t>(key);
      cached.push_back({ids[f], kjt.offset_per_key()[k], kjt.offset_per_key()[k + 1]});
    }
    if (taken) {
      slots = Tensor::Empty(ctx, {kjt.values().numel()}, DType::kI64);
      keys.clear();
    }
    requests.push_back({state.tables[t].cache.get(), std::move(cached), slots});
    for (const size_t f : features) {
      keys.insert(kjt.IndexOf(state.features[f].key));
      ids[f] = slots;
    }
  }
  const std::vector<RowCache::Batch> batches = RowCache::PrefetchAll(ctx, requests);
  for (size_t t = 0, next = 0; t < state.tables.size(); ++t)
    if (state.tables[t].cache) of_table_[t] = batches[next++];
}

std::vector<RowCache::Use> CachedBatch::Uses(const TablesState& state, bool updated) const {
  std::vector<RowCache::Use> uses;
  for (size_t t = 0; t < of_table_.size(); ++t)
    if (of_table_[t])
      uses.push_back(
          {state.tables[t].cache.get(), of_table_[t], updated && state.tables[t].updated()});
  return uses;
}

void CachedBatch::Load(Context& ctx, const TablesState& state) const {
  RowCache::LoadAll(ctx, Uses(state, /*updated=*/false));
}

void CachedBatch::Release(Context& ctx, const TablesState& state, bool updated) const {
  RowCache::ReleaseAll(ctx, Uses(state, updated));
}

void InOrderOfCaches(Context& ctx, const TablesState& state, const std::function<void()>& fn) {
  const auto join = [&] {
    for (const EmbeddingTable& table : state.tables)
      if (table.cache) table.cache->InOrder(ctx, [] {});
  };
  join();
  fn();
  join();
}

}  // namespace tessera::internal
