#ifndef TESSERA_EMBEDDING_CACHE_ROW_CACHE_RUN_H_
#define TESSERA_EMBEDDING_CACHE_ROW_CACHE_RUN_H_
// The row cache's calls, step by step, for any device. CacheMachine<On> has the operations that
// differ between devices:
//
//   Context& ctx
//   ForEachId(features, fn)            fn(f, i) for every id of every feature
//   ForEachOf(tables, fn)              fn(t, i) for i in [0, fn.Count(t)) of every table; Count is
//                                      known on the device, and at most t.batch.num_ids
//   ForEachPieceOf(tables, fn)         fn(t, i, index) for those i and every piece of t's rows
//   ForEach(n, fn)                     fn(i) for i in [0, n)
//   ForEachUpTo(count, each, most, fn) for i in [0, *count·each); *count ≤ most, known on the
//                                      device
//   Sort<Key>(ids, n, bits)            by keys, stably: the sorted ids, and room for others
//   NumberRuns<Key>(keys, n, numbers)
//   NumberFlagged(flags, n, numbers)
//   Flagged<Place>(flags, n, list, count) as in runtime/algorithms.h
#include <algorithm>
#include <bit>
#include <span>
#include <utility>

#include "embedding/cache/row_cache_impl.h"
#include "runtime/device/workspace_cutter.h"
#include "runtime/tensor.h"

namespace tessera::internal {

template <typename On>
struct CacheMachine;

// Ids, with room to sort them.
template <typename Key>
struct SortableIds {
  Key *keys, *keys_scratch;
  uint32_t *places, *places_scratch;
};

// One prefetch of many tables.
template <typename On, typename Key>
class PrefetchSteps {
 public:
  PrefetchSteps(Context& ctx, std::span<const PrefetchCall> calls, int hash_bits)
      : machine_{ctx}, ctx_(ctx), calls_(calls), hash_bits_(hash_bits) {
    for (const PrefetchCall& c : calls) num_ids_ += c.num_ids;
  }

  BatchMemory Run() {
    BatchMemory memory = Kept();
    const SortableIds<Key> ids = Work();
    GatherKeys(ids);
    const SortableIds<Key> sorted =
        machine_.Sort(ids, num_ids_, KeyBits(hash_bits_, std::ssize(calls_)));
    machine_.NumberRuns(sorted.keys, num_ids_, numbers_);

    const ScratchVector<MovedTable> moved = Tables(memory, sorted.places);
    const ScratchVector<CachedTable> tables(moved.begin(), moved.end());
    machine_.ForEachOf(tables, NameRows<Key>(sorted.keys));
    machine_.ForEachOf(tables, ProbeLines());
    machine_.ForEachOf(tables, FillSets());
    if (calls_[0].view.parts.on_disk)
      ListMovesOf(moved[0], memory);
    else
      machine_.ForEachPieceOf(moved, ExchangeRows());
    machine_.NumberFlagged(conflicting_, num_ids_, conflict_ranks_);
    machine_.ForEachOf(tables, WriteSlots());
    return memory;
  }

 private:
  BatchMemory Kept() const {
    BatchMemory memory;
    const int64_t tables = std::ssize(calls_);
    const auto cut = [&](WorkspaceCutter cutter) {
      BatchRows all = {.num_ids = num_ids_,
                       .count = cutter.Take<uint32_t>(tables),
                       .rows = cutter.Take<int64_t>(num_ids_),
                       .slots = cutter.Take<int64_t>(num_ids_),
                       .conflicts = cutter.Take<int32_t>(num_ids_),
                       .num_conflicts = cutter.Take<uint32_t>(tables)};
      return std::pair(all, cutter.bytes());
    };
    const int64_t size = cut(WorkspaceCutter(nullptr)).second;
    memory.kept = Tensor::Empty(ctx_, {size}, DType::kU8);
    void* const bytes = memory.kept.raw_data();
    const BatchRows all = cut(WorkspaceCutter(bytes)).first;
    memory.num_conflicts = memory.kept.Reinterpret(
        reinterpret_cast<char*>(all.num_conflicts) - static_cast<char*>(bytes), {tables},
        DType::kI32);
    int64_t first = 0;
    for (int64_t t = 0; t < tables; ++t) {
      const int64_t n = calls_[static_cast<size_t>(t)].num_ids;
      memory.rows.push_back({n, all.count + t, all.rows + first, all.slots + first,
                             all.conflicts + first, all.num_conflicts + t});
      first += n;
    }
    return memory;
  }

  SortableIds<Key> CutWork(WorkspaceCutter& cutter) {
    const int64_t n = num_ids_;
    const SortableIds<Key> ids = {cutter.Take<Key>(n), cutter.Take<Key>(n),
                                  cutter.Take<uint32_t>(n), cutter.Take<uint32_t>(n)};
    numbers_ = cutter.Take<uint32_t>(n);
    starts_ = cutter.Take<uint32_t>(n);
    conflict_ranks_ = cutter.Take<uint32_t>(n);
    leaving_ = cutter.Take<int64_t>(n);
    inserted_ = cutter.Take<uint8_t>(n);
    conflicting_ = cutter.Take<uint8_t>(n);
    return ids;
  }
  SortableIds<Key> Work() {
    WorkspaceCutter counter(nullptr);
    CutWork(counter);
    work_ = Tensor::Empty(ctx_, {counter.bytes()}, DType::kU8);
    WorkspaceCutter cutter(work_.raw_data());
    return CutWork(cutter);
  }

  void GatherKeys(const SortableIds<Key>& ids) const {
    ScratchVector<KeyedIds> features;
    int64_t at = 0;
    for (size_t t = 0; t < calls_.size(); ++t) {
      const PrefetchCall& c = calls_[t];
      for (const CachedIds& f : c.features) {
        features.push_back({.ids = {f.ids.raw_data(), f.ids.dtype() == DType::kI64},
                            .begin = f.begin,
                            .count = f.end - f.begin,
                            .num_rows = c.view.num_rows,
                            .hash = c.view.cache.hash,
                            .table_key = t == 0 ? 0 : uint64_t{t} << (hash_bits_ + 1),
                            .at = at});
        at += f.end - f.begin;
      }
    }
    machine_.ForEachId(std::span<const KeyedIds>(features), MakeKeys<Key>{ids.keys, ids.places});
  }

  ScratchVector<MovedTable> Tables(const BatchMemory& memory, const uint32_t* places) const {
    ScratchVector<MovedTable> tables;
    int64_t first = 0;
    for (size_t t = 0; t < calls_.size(); ++t) {
      const PrefetchCall& c = calls_[t];
      const PrefetchWork work = {.first = first,
                                 .call = c.call,
                                 .places = places + first,
                                 .numbers = numbers_ + first,
                                 .starts = starts_ + first,
                                 .leaving = leaving_ + first,
                                 .inserted = inserted_ + first,
                                 .conflicting = conflicting_ + first,
                                 .conflict_ranks = conflict_ranks_ + first,
                                 .out = c.slots};
      tables.push_back({{c.view.cache, c.view.counters, memory.rows[t], work}, c.view.parts});
      first += c.num_ids;
    }
    return tables;
  }

  void ListMovesOf(const MovedTable& t, BatchMemory& memory) const {
    const int64_t n = t.batch.num_ids;
    const Tensor list = Tensor::Empty(ctx_, {n}, DType::kI32);
    memory.num_moves = Tensor::EmptyPinned(ctx_, {1}, DType::kI32);
    memory.moves = Tensor::EmptyPinned(ctx_, {3, n}, DType::kI64);
    machine_.template Flagged<int32_t>(inserted_, n, list, memory.num_moves);
    machine_.ForEachUpTo(memory.num_moves.data<int32_t>(), 1, n,
                         ListMoves{t.batch.rows, t.batch.slots, leaving_, list.data<int32_t>(),
                                   memory.moves.data<int64_t>(), n});
  }

  CacheMachine<On> machine_;
  Context& ctx_;
  std::span<const PrefetchCall> calls_;
  int hash_bits_;  // of the largest table
  int64_t num_ids_ = 0;
  Tensor work_;  // what the pointers below are parts of
  uint32_t *numbers_ = nullptr, *starts_ = nullptr, *conflict_ranks_ = nullptr;
  int64_t* leaving_ = nullptr;
  uint8_t *inserted_ = nullptr, *conflicting_ = nullptr;
};

template <typename On>
BatchMemory CacheRun<On>::Prefetch(std::span<const PrefetchCall> calls) const {
  int hash_bits = 1;
  for (const PrefetchCall& c : calls) hash_bits = std::max(hash_bits, c.view.cache.hash.bits);
  if (KeyBits(hash_bits, std::ssize(calls)) <= 32)
    return PrefetchSteps<On, uint32_t>(ctx_, calls, hash_bits).Run();
  return PrefetchSteps<On, uint64_t>(ctx_, calls, hash_bits).Run();
}

template <typename On>
void CacheRun<On>::LoadScratch(std::span<const MovedTable> tables) const {
  CacheMachine<On>{ctx_}.ForEachPieceOf(tables, internal::LoadScratch());
}

template <typename On>
void CacheRun<On>::StoreScratch(std::span<const MovedTable> tables) const {
  CacheMachine<On>{ctx_}.ForEachPieceOf(tables, internal::StoreScratch());
}

template <typename On>
Tensor CacheRun<On>::ListOfScratch(const CachedTable& table, int64_t room) const {
  const int64_t n = std::min(table.batch.num_ids, room);
  Tensor list = Tensor::EmptyPinned(ctx_, {2, n}, DType::kI64);
  CacheMachine<On>{ctx_}.ForEachOf(std::span(&table, 1), ListScratch(list.data<int64_t>(), n));
  return list;
}

template <typename On>
void CacheRun<On>::Unlock(std::span<const CachedTable> tables) const {
  CacheMachine<On>{ctx_}.ForEachOf(tables, UnlockLines());
}

template <typename On>
void CacheRun<On>::Flush(const CacheView& view) const {
  const CacheMachine<On> machine{ctx_};
  const int64_t lines = view.cache.lines();
  const Tensor list = Tensor::Empty(ctx_, {lines}, DType::kI64),
               count = Tensor::Empty(ctx_, {1}, DType::kI64);
  machine.template Flagged<int64_t>(view.cache.dirty, lines, list, count);
  machine.ForEachUpTo(count.data<int64_t>(), view.parts.pieces, lines,
                      WriteBack{view.parts, view.cache, list.data<int64_t>(), view.counters});
}

template <typename On>
std::pair<Tensor, Tensor> CacheRun<On>::TakeDirty(const CacheView& view) const {
  const CacheMachine<On> machine{ctx_};
  const int64_t lines = view.cache.lines();
  const Tensor list = Tensor::EmptyPinned(ctx_, {2, lines}, DType::kI64),
               count = Tensor::EmptyPinned(ctx_, {1}, DType::kI64);
  int64_t* const dirty = list.data<int64_t>();
  machine.template Flagged<int64_t>(view.cache.dirty, lines, list.Rows(0, 1), count);
  machine.ForEachUpTo(count.data<int64_t>(), 1, lines,
                      ListDirty{view.cache, dirty, dirty + lines, view.counters});
  return {list, count};
}

template <typename On>
void CacheRun<On>::Stage(const CacheView& view, const int64_t* slots, int64_t n, bool fill) const {
  CacheMachine<On>{ctx_}.ForEach(n * view.parts.pieces, StageSlots{view.parts, slots, fill});
}

}  // namespace tessera::internal
#endif  // TESSERA_EMBEDDING_CACHE_ROW_CACHE_RUN_H_
