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
    of_table_[t] = state.tables[t].cache->Prefetch(ctx, cached, slots);
    for (const size_t f : features) {
      keys.insert(kjt.IndexOf(state.features[f].key));
      ids[f] = slots;
    }
  }
}

void CachedBatch::Load(Context& ctx, const TablesState& state) const {
  for (size_t t = 0; t < of_table_.size(); ++t)
    if (of_table_[t]) state.tables[t].cache->Load(ctx, of_table_[t]);
}

void CachedBatch::Release(Context& ctx, const TablesState& state, bool updated) const {
  for (size_t t = 0; t < of_table_.size(); ++t)
    if (of_table_[t])
      state.tables[t].cache->Release(ctx, of_table_[t], updated && state.tables[t].updated());
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
