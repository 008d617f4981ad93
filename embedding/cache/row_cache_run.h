#ifndef TESSERA_EMBEDDING_CACHE_ROW_CACHE_RUN_H_
#define TESSERA_EMBEDDING_CACHE_ROW_CACHE_RUN_H_
// The row cache's calls, step by step, for any device. CacheMachine<On> has the operations that
// differ between devices:
//
//   Context& ctx
//   ForEach(n, fn)                     fn(i) for i in [0, n)
//   ForEachOf(count, each, most, fn)   for i in [0, *count·each); *count ≤ most, known on the
//                                      device
//   Sort<Key>(keys, places, bits)      two tensors [n], by keys, stably: the sorted ones
//   RunStarts<Key>(keys, starts, count)
//   Flagged<Place>(flags, list, count) as in runtime/algorithms.h
#include <algorithm>
#include <span>
#include <utility>

#include "embedding/cache/row_cache_impl.h"
#include "runtime/tensor.h"

namespace tessera::internal {

template <typename On>
struct CacheMachine;

template <typename Key>
DType KeyType() {
  return sizeof(Key) == 4 ? DType::kI32 : DType::kI64;
}
template <typename Key>
Key* KeysOf(const Tensor& keys) {
  return static_cast<Key*>(keys.raw_data());
}
inline uint32_t* Counts(const Tensor& tensor) { return static_cast<uint32_t*>(tensor.raw_data()); }

template <typename On>
class CacheSteps {
 public:
  CacheSteps(Context& ctx, const CacheView& view) : machine_{ctx}, ctx_(ctx), view_(view) {}

  void Prefetch(int64_t call, std::span<const CachedIds> features, const Tensor& slots,
                BatchTensors& batch) const {
    if (view_.cache.hash.bits < 32)
      PrefetchBy<uint32_t>(call, features, slots, batch);
    else
      PrefetchBy<uint64_t>(call, features, slots, batch);
  }

  Tensor Load(const BatchTensors& batch, int64_t room) const {
    const auto [rows, truth] = FindScratch(batch, room);
    ForConflicts(
        batch, view_.parts.pieces, room,
        LoadScratch{view_.parts, rows, truth.template data<int64_t>(), view_.cache.lines()});
    return ListOfScratch(batch, room, rows, truth);
  }

  Tensor Store(const BatchTensors& batch, int64_t room) const {
    const auto [rows, truth] = FindScratch(batch, room);
    ForConflicts(batch, view_.parts.pieces, room,
                 StoreScratch{view_.parts, rows, truth.template data<int64_t>(),
                              view_.cache.lines(), view_.cache.dirty, view_.counters});
    return ListOfScratch(batch, room, rows, truth);
  }

  void Unlock(const BatchTensors& batch, bool updated) const {
    machine_.ForEachOf(Counts(batch.count), 1, batch.num_ids,
                       UnlockLines{view_.cache, batch.slots.data<int64_t>(), updated});
  }

  void Flush() const {
    const int64_t lines = view_.cache.lines();
    const Tensor list = Tensor::Empty(ctx_, {lines}, DType::kI64),
                 count = Tensor::Empty(ctx_, {1}, DType::kI64);
    machine_.template Flagged<int64_t>(view_.cache.dirty, lines, list, count);
    machine_.ForEachOf(count.data<int64_t>(), view_.parts.pieces, lines,
                       WriteBack{view_.parts, view_.cache, list.data<int64_t>(), view_.counters});
  }

  std::pair<Tensor, Tensor> TakeDirty() const {
    const int64_t lines = view_.cache.lines();
    const Tensor list = Tensor::EmptyPinned(ctx_, {2, lines}, DType::kI64),
                 count = Tensor::EmptyPinned(ctx_, {1}, DType::kI64);
    int64_t* const dirty = list.data<int64_t>();
    machine_.template Flagged<int64_t>(view_.cache.dirty, lines, list.Rows(0, 1), count);
    machine_.ForEachOf(count.data<int64_t>(), 1, lines,
                       ListDirty{view_.cache, dirty, dirty + lines, view_.counters});
    return {list, count};
  }

  void Stage(const int64_t* slots, int64_t n, bool fill) const {
    machine_.ForEach(n * view_.parts.pieces, StageSlots{view_.parts, slots, fill});
  }

 private:
  template <typename Fn>
  void ForConflicts(const BatchTensors& batch, int64_t each, int64_t room, const Fn& fn) const {
    machine_.ForEachOf(batch.num_conflicts.data<int32_t>(), each, std::min(batch.num_ids, room),
                       fn);
  }

  // Names the scratch slots, and says where the truth about their rows lies.
  std::pair<const int64_t*, Tensor> FindScratch(const BatchTensors& batch, int64_t room) const {
    Tensor truth = Tensor::Empty(ctx_, {std::min(batch.num_ids, room)}, DType::kI64);
    const int32_t* list = batch.conflicts.data<int32_t>();
    ForConflicts(batch, 1, room,
                 FindTruth{view_.cache, batch.rows.data<int64_t>(), list, truth.data<int64_t>()});
    return {view_.cache.rows + view_.cache.lines(), std::move(truth)};
  }

  // Undefined for a table that does not lie on disk.
  Tensor ListOfScratch(const BatchTensors& batch, int64_t room, const int64_t* rows,
                       const Tensor& truth) const {
    if (!view_.parts.on_disk) return {};
    const int64_t n = truth.numel();
    Tensor list = Tensor::EmptyPinned(ctx_, {2, n}, DType::kI64);
    ForConflicts(batch, 1, room, ListScratch{rows, truth.data<int64_t>(), list.data<int64_t>(), n});
    return list;
  }

  template <typename Key>
  void PrefetchBy(int64_t call, std::span<const CachedIds> features, const Tensor& slots,
                  BatchTensors& batch) const {
    const int64_t n = batch.num_ids;
    Tensor keys = Tensor::Empty(ctx_, {n}, KeyType<Key>()),
           places = Tensor::Empty(ctx_, {n}, DType::kI32);
    GatherKeys<Key>(features, keys, places);
    machine_.template Sort<Key>(keys, places, view_.cache.hash.bits + 1);

    const Tensor starts = Tensor::Empty(ctx_, {n}, DType::kI32),
                 leaving = Tensor::Empty(ctx_, {n}, DType::kI64),
                 flags = Tensor::Zeros(ctx_, {2, n}, DType::kU8);
    MakeTensors(batch);
    machine_.template RunStarts<Key>(keys, starts, batch.count);
    const BatchRows rows = {.num_ids = n,
                            .count = Counts(batch.count),
                            .starts = Counts(starts),
                            .rows = batch.rows.data<int64_t>(),
                            .slots = batch.slots.data<int64_t>(),
                            .leaving = leaving.data<int64_t>(),
                            .inserted = flags.data<uint8_t>(),
                            .conflicts = flags.data<uint8_t>() + n};
    const auto for_rows = [&](const auto& fn) { machine_.ForEachOf(rows.count, 1, n, fn); };
    for_rows(NameRows<Key>{view_.cache.hash, KeysOf<Key>(keys), rows.starts, rows.rows});
    for_rows(ProbeLines{view_.cache, rows, call});
    for_rows(FillSets{view_.cache, rows, call, view_.counters});
    machine_.ForEach(1, CountBatch{rows, view_.counters});
    BringIn(rows, batch);
    machine_.ForEach(n, WriteSlots{rows, Counts(places), slots.data<int64_t>()});
  }

  template <typename Key>
  void GatherKeys(std::span<const CachedIds> features, const Tensor& keys,
                  const Tensor& places) const {
    int64_t at = 0;
    for (const CachedIds& f : features) {
      const int64_t n = f.end - f.begin;
      machine_.ForEach(n, MakeKeys<Key>{{f.ids.raw_data(), f.ids.dtype() == DType::kI64},
                                        f.begin,
                                        view_.num_rows,
                                        view_.cache.hash,
                                        KeysOf<Key>(keys) + at,
                                        Counts(places) + at});
      at += n;
    }
  }

  void MakeTensors(BatchTensors& batch) const {
    batch.rows = Tensor::Empty(ctx_, {batch.num_ids}, DType::kI64);
    batch.slots = Tensor::Empty(ctx_, {batch.num_ids}, DType::kI64);
    batch.count = Tensor::Empty(ctx_, {1}, DType::kI32);
    batch.conflicts = Tensor::Empty(ctx_, {batch.num_ids}, DType::kI32);
    batch.num_conflicts = Tensor::Empty(ctx_, {1}, DType::kI32);
  }

  // Rows that got a line are moved there; the others get scratch slots.
  void BringIn(const BatchRows& rows, BatchTensors& batch) const {
    const int64_t n = rows.num_ids;
    const Tensor inserted = Tensor::Empty(ctx_, {n}, DType::kI32),
                 num_inserted = view_.parts.on_disk ? Tensor::EmptyPinned(ctx_, {1}, DType::kI32)
                                                    : Tensor::Empty(ctx_, {1}, DType::kI32);
    machine_.template Flagged<int32_t>(rows.inserted, n, inserted, num_inserted);
    if (view_.parts.on_disk) {
      batch.moves = Tensor::EmptyPinned(ctx_, {3, n}, DType::kI64);
      batch.num_moves = num_inserted;
      machine_.ForEachOf(num_inserted.data<int32_t>(), 1, n,
                         ListMoves{rows, inserted.data<int32_t>(), batch.moves.data<int64_t>(), n});
    } else {
      machine_.ForEachOf(num_inserted.data<int32_t>(), view_.parts.pieces, n,
                         ExchangeRows{view_.parts, rows, inserted.data<int32_t>()});
    }
    machine_.template Flagged<int32_t>(rows.conflicts, n, batch.conflicts, batch.num_conflicts);
    ForConflicts(batch, 1, n,
                 AssignScratch{rows, batch.conflicts.data<int32_t>(), view_.cache.lines()});
  }

  CacheMachine<On> machine_;
  Context& ctx_;
  const CacheView& view_;
};

template <typename On>
void CacheRun<On>::Prefetch(int64_t call, std::span<const CachedIds> features, const Tensor& slots,
                            BatchTensors& batch) const {
  CacheSteps<On>(ctx_, view_).Prefetch(call, features, slots, batch);
}
template <typename On>
Tensor CacheRun<On>::LoadScratch(const BatchTensors& batch, int64_t room) const {
  return CacheSteps<On>(ctx_, view_).Load(batch, room);
}
template <typename On>
Tensor CacheRun<On>::StoreScratch(const BatchTensors& batch, int64_t room) const {
  return CacheSteps<On>(ctx_, view_).Store(batch, room);
}
template <typename On>
void CacheRun<On>::Unlock(const BatchTensors& batch, bool updated) const {
  CacheSteps<On>(ctx_, view_).Unlock(batch, updated);
}
template <typename On>
void CacheRun<On>::Flush() const {
  CacheSteps<On>(ctx_, view_).Flush();
}
template <typename On>
std::pair<Tensor, Tensor> CacheRun<On>::TakeDirty() const {
  return CacheSteps<On>(ctx_, view_).TakeDirty();
}
template <typename On>
void CacheRun<On>::Stage(const int64_t* slots, int64_t n, bool fill) const {
  CacheSteps<On>(ctx_, view_).Stage(slots, n, fill);
}

}  // namespace tessera::internal
#endif  // TESSERA_EMBEDDING_CACHE_ROW_CACHE_RUN_H_
