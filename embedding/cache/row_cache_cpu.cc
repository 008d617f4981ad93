// The row cache with "device" memory that is the host's.
#include "embedding/cache/row_cache_run.h"
#include "embedding/update/sort_occurrences.h"
#include "runtime/for_each.h"
#include "runtime/tensor.h"

namespace tessera::internal {

template <>
struct CacheMachine<OnCpu> {
  Context& ctx;
  static constexpr int64_t kGrain = 1024;

  template <typename Fn>
  void ForEach(int64_t n, const Fn& fn) const {
    internal::ForEach(OnCpu{}, ctx, n, kGrain, fn);
  }
  template <typename Count, typename Fn>
  void ForEachOf(const Count* count, int64_t each, int64_t /*most*/, const Fn& fn) const {
    ForEach(static_cast<int64_t>(*count) * each, fn);
  }

  template <typename Key>
  void Sort(Tensor& keys, Tensor& places, int bits) const {
    const int64_t n = keys.numel();
    const auto size = static_cast<size_t>(n);
    std::vector<Occurrence<Key>> pairs(size), scratch(size);
    for (int64_t i = 0; i < n; ++i)
      pairs[static_cast<size_t>(i)] = {KeysOf<Key>(keys)[i], Counts(places)[i]};
    const Occurrence<Key>* sorted =
        SortOccurrences(ctx, pairs.data(), scratch.data(), n, int64_t{1} << bits);
    for (int64_t i = 0; i < n; ++i) {
      KeysOf<Key>(keys)[i] = sorted[i].row;
      Counts(places)[i] = sorted[i].payload;
    }
  }

  template <typename Key>
  void RunStarts(const Tensor& sorted, const Tensor& starts, const Tensor& count) const {
    const Key* keys = KeysOf<Key>(sorted);
    uint32_t found = 0;
    for (int64_t i = 0; i < sorted.numel(); ++i)
      if (i == 0 || keys[i] != keys[i - 1]) Counts(starts)[found++] = static_cast<uint32_t>(i);
    *Counts(count) = found;
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
