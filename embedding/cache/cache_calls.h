#ifndef TESSERA_EMBEDDING_CACHE_CACHE_CALLS_H_
#define TESSERA_EMBEDDING_CACHE_CACHE_CALLS_H_
// The calls of a batch, for many caches: those of tables in memory together, then those of each
// table on disk, for which the host waits, by themselves.
#include <memory>
#include <span>

#include "embedding/cache/row_cache_state.h"
#include "runtime/context.h"

namespace tessera {
namespace internal {

class CacheCalls {
 public:
  struct Prefetching {
    RowCache* cache;
    std::span<const CachedIds> features;
    std::shared_ptr<RowCache::Batch::State> batch;
  };
  struct Using {
    RowCache* cache;
    RowCache::Batch::State* batch;
    bool updated = false;
  };

  explicit CacheCalls(Context& ctx) : ctx_(ctx) {}
  void Prefetch(std::span<const Prefetching> all) const;
  void Load(std::span<const Using> all) const;
  void Release(std::span<const Using> all) const;
  // Releases batches whose only owner is the cache: their callers cannot do so any more, and they
  // would hold their lines for ever. Between Enter and Leave.
  void ReleaseAbandoned(RowCache& cache) const;

 private:
  // fn(group) for each group of caches that work together.
  template <typename Item, typename Fn>
  void ForGroups(std::span<const Item> all, const Fn& fn) const;
  // fn() in the order of the group's calls.
  template <typename Item, typename Fn>
  void InOrder(std::span<const Item> group, const Fn& fn) const;
  template <typename Item>
  void Leave(std::span<const Item> group) const;
  void PrefetchGroup(std::span<const Prefetching> group) const;
  void PrefetchRows(std::span<const PrefetchCall> calls, std::span<const Prefetching> group) const;
  void LoadGroup(std::span<const Using> group) const;
  void ReleaseGroup(std::span<const Using> group) const;

  Context& ctx_;
};

}  // namespace internal
}  // namespace tessera
#endif  // TESSERA_EMBEDDING_CACHE_CACHE_CALLS_H_
