#include "embedding/cache/cache_calls.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "runtime/device/dispatch.h"

namespace tessera::internal {

template <typename Item, typename Fn>
void CacheCalls::ForGroups(std::span<const Item> all, const Fn& fn) const {
  std::vector<Item> in_memory;
  for (const Item& item : all)
    if (!item.cache->state_->disk) in_memory.push_back(item);
  if (!in_memory.empty()) fn(std::span<const Item>(in_memory));
  for (const Item& item : all)
    if (item.cache->state_->disk) fn(std::span(&item, 1));
}

template <typename Item, typename Fn>
void CacheCalls::InOrder(std::span<const Item> group, const Fn& fn) const {
  for (const Item& item : group) item.cache->Enter(ctx_);
  try {
    fn();
  } catch (...) {
    Leave(group);  // some of it may have been given to the stream
    throw;
  }
  Leave(group);
}

template <typename Item>
void CacheCalls::Leave(std::span<const Item> group) const {
  const Event end = Event::Record(ctx_.stream());
  for (const Item& item : group) {
    item.cache->state_->last_call = end;
    item.cache->state_->last_stream = ctx_.stream().handle();
  }
}

void CacheCalls::Prefetch(std::span<const Prefetching> all) const {
  ForGroups(all, [&](std::span<const Prefetching> group) { PrefetchGroup(group); });
}

void CacheCalls::Load(std::span<const Using> all) const {
  ForGroups(all, [&](std::span<const Using> group) { InOrder(group, [&] { LoadGroup(group); }); });
}

void CacheCalls::Release(std::span<const Using> all) const {
  ForGroups(all,
            [&](std::span<const Using> group) { InOrder(group, [&] { ReleaseGroup(group); }); });
}

namespace {

// How many of the next calls go into one sort, which numbers their ids by 32 bits.
int64_t CallsOfOneSort(std::span<const PrefetchCall> calls) {
  constexpr int kMaxKeyBits = 62;
  constexpr int64_t kMaxIds = int64_t{1} << 31;
  int hash_bits = 0;
  int64_t count = 0, num_ids = 0;
  for (const PrefetchCall& call : calls) {
    hash_bits = std::max(hash_bits, call.view.cache.hash.bits);
    num_ids += call.num_ids;
    if (count > 0 && (num_ids >= kMaxIds || KeyBits(hash_bits, count + 1) > kMaxKeyBits)) break;
    ++count;
  }
  return count;
}

}  // namespace

void CacheCalls::PrefetchGroup(std::span<const Prefetching> group) const {
  for (const Prefetching& p : group)
    if (p.cache->state_->disk) p.cache->state_->disk->table().log().CheckWritten();
  InOrder(group, [&] {
    std::vector<PrefetchCall> calls;
    std::vector<Prefetching> with_ids;
    for (const Prefetching& p : group) {
      RowCache::State& s = *p.cache->state_;
      ReleaseAbandoned(*p.cache);
      p.batch->call = ++s.calls;
      if (p.batch->rows.num_ids == 0) continue;
      calls.push_back(
          {s.View(), s.calls, p.features, p.batch->rows.num_ids, p.batch->slots.data<int64_t>()});
      with_ids.push_back(p);
    }
    for (std::span<const PrefetchCall> rest = calls; !rest.empty();) {
      const auto part = rest.first(static_cast<size_t>(CallsOfOneSort(rest)));
      PrefetchRows(part, std::span(with_ids).subspan(calls.size() - rest.size(), part.size()));
      rest = rest.subspan(part.size());
    }
    for (const Prefetching& p : group) p.cache->state_->pending.push_back(p.batch);
  });
}

void CacheCalls::PrefetchRows(std::span<const PrefetchCall> calls,
                              std::span<const Prefetching> group) const {
  const BatchMemory memory =
      DispatchDevice(ctx_.device(), [&](auto on) { return CacheRun(on, ctx_).Prefetch(calls); });
  const auto shared = std::make_shared<BatchGroup>();
  shared->kept = memory.kept;
  // The number of rows without a line is read when the batch is loaded, if at all: a prefetch waits
  // for nothing.
  if (std::any_of(group.begin(), group.end(),
                  [](const Prefetching& p) { return p.cache->state_->AsksForConflicts(); }))
    shared->num_conflicts = std::make_unique<HostCopy>(ctx_, memory.num_conflicts);
  for (size_t t = 0; t < group.size(); ++t) {
    const Prefetching& p = group[t];
    p.batch->rows = memory.rows[t];
    p.batch->group = shared;
    p.batch->index = static_cast<int64_t>(t);
    if (DiskSide* const disk = p.cache->state_->disk.get())
      disk->Prefetch(ctx_, calls[t].view, calls[t].call, memory);
  }
}

void CacheCalls::LoadGroup(std::span<const Using> group) const {
  std::vector<MovedTable> tables;
  for (const Using& u : group) {
    RowCache::State& s = *u.cache->state_;
    const RowCache::Batch::State& b = *u.batch;
    if (s.loaded == &b || b.rows.num_ids == 0) continue;
    b.RecordStream(ctx_);
    s.FinishReads(ctx_, b);
    s.ReserveScratch(ctx_, b);
    s.loaded = nullptr;  // scratch is written from here on
    if (s.disk)
      s.disk->LoadScratch(ctx_, s.View(), s.TableOf(b), b.Conflicts(), s.scratch);
    else
      tables.push_back(s.TableOf(b));
  }
  if (!tables.empty())
    DispatchDevice(ctx_.device(), [&](auto on) { CacheRun(on, ctx_).LoadScratch(tables); });
  for (const Using& u : group) u.cache->state_->loaded = u.batch;
}

void CacheCalls::ReleaseGroup(std::span<const Using> group) const {
  std::vector<MovedTable> stored;
  std::vector<CachedTable> tables;
  for (const Using& u : group) {
    RowCache::State& s = *u.cache->state_;
    const RowCache::Batch::State& b = *u.batch;
    if (b.rows.num_ids == 0) continue;
    b.RecordStream(ctx_);
    if (u.updated) s.FinishReads(ctx_, b);
    s.holds_updates = s.holds_updates || u.updated;
    const MovedTable table = s.TableOf(b, u.updated);
    if (u.updated && s.disk)
      s.disk->StoreScratch(ctx_, s.View(), table, b.Conflicts(), s.scratch);
    else if (u.updated)
      stored.push_back(table);
    tables.push_back(table);
  }
  DispatchDevice(ctx_.device(), [&](auto on) {
    const CacheRun run(on, ctx_);
    if (!stored.empty()) run.StoreScratch(stored);
    if (!tables.empty()) run.Unlock(tables);
  });
  for (const Using& u : group) {
    RowCache::State& s = *u.cache->state_;
    if (s.loaded == u.batch) s.loaded = nullptr;
    std::erase_if(s.pending, [&](const auto& p) { return p.get() == u.batch; });
  }
}

void CacheCalls::ReleaseAbandoned(RowCache& cache) const {
  RowCache::State& s = *cache.state_;
  const std::vector<std::shared_ptr<RowCache::Batch::State>> pending = std::exchange(s.pending, {});
  for (const auto& batch : pending)
    if (batch.use_count() > 1) s.pending.push_back(batch);
  for (const auto& batch : pending) {
    const Using use = {&cache, batch.get()};
    if (batch.use_count() == 1) ReleaseGroup({&use, 1});
  }
}

}  // namespace tessera::internal
