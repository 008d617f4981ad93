// The row cache with "device" memory that is the host's.
#include "embedding/cache/row_cache_run.h"
#include "embedding/lookup/feature_items.h"
#include "embedding/update/sort_occurrences.h"
#include "runtime/for_each.h"
#include "runtime/tensor.h"

namespace tessera::internal {

template <>
struct CacheMachine<OnCpu> {
  Context& ctx;
  static constexpr int64_t kGrain = 1024;

  template <typename Fn>
  void ForEachId(std::span<const KeyedIds> features, const Fn& fn) const {
    ForEachItem(OnCpu{}, ctx, features, kGrain, fn);
  }
  template <typename Fn>
  void ForEachOf(std::span<const CachedTable> tables, const Fn& fn) const {
    for (const CachedTable& t : tables) ForEach(fn.Count(t), [&](int64_t i) { fn(t, i); });
  }
  template <typename Fn>
  void ForEachPieceOf(std::span<const MovedTable> tables, const Fn& fn) const {
    for (const MovedTable& t : tables)
      ForEach(fn.Count(t), [&](int64_t i) {
        for (int64_t index = 0; index < t.parts.pieces; ++index) fn(t, i, index);
      });
  }
  template <typename Fn>
  void ForEach(int64_t n, const Fn& fn) const {
    internal::ForEach(OnCpu{}, ctx, n, kGrain, fn);
  }
  template <typename Count, typename Fn>
  void ForEachUpTo(const Count* count, int64_t each, int64_t /*most*/, const Fn& fn) const {
    ForEach(static_cast<int64_t>(*count) * each, fn);
  }

  template <typename Key>
  SortableIds<Key> Sort(const SortableIds<Key>& ids, int64_t n, int bits) const {
    const auto size = static_cast<size_t>(n);
    std::vector<Occurrence<Key>> pairs(size), scratch(size);
    for (size_t i = 0; i < size; ++i) pairs[i] = {ids.keys[i], ids.places[i]};
    const Occurrence<Key>* sorted =
        SortOccurrences(ctx, pairs.data(), scratch.data(), n, int64_t{1} << bits);
    for (size_t i = 0; i < size; ++i) {
      ids.keys[i] = sorted[i].row;
      ids.places[i] = sorted[i].payload;
    }
    return ids;
  }

  template <typename Key>
  void NumberRuns(const Key* sorted, int64_t n, uint32_t* numbers) const {
    uint32_t found = 0;
    for (int64_t i = 0; i < n; ++i) numbers[i] = found += i == 0 || sorted[i] != sorted[i - 1];
  }
  void NumberFlagged(const uint8_t* flags, int64_t n, uint32_t* numbers) const {
    uint32_t found = 0;
    for (int64_t i = 0; i < n; ++i) numbers[i] = found += flags[i] != 0;
  }

  template <typename Place>
  void Flagged(const uint8_t* flags, int64_t n, const Tensor& list, const Tensor& count) const {
    Place found = 0;
    for (int64_t i = 0; i < n; ++i)
      if (flags[i]) list.data<Place>()[found++] = static_cast<Place>(i);
    *count.data<Place>() = found;
  }
};

template class CacheRun<OnCpu>;

}  // namespace tessera::internal
