#ifndef TESSERA_EMBEDDING_CACHE_ROW_CACHE_STATE_H_
#define TESSERA_EMBEDDING_CACHE_ROW_CACHE_STATE_H_
// A row cache holds this, and so do its batches.
#include <memory>
#include <vector>

#include "embedding/cache/disk_side.h"
#include "embedding/cache/row_cache.h"
#include "embedding/cache/row_cache_impl.h"
#include "runtime/context.h"
#include "runtime/staging.h"
#include "runtime/tensor.h"

namespace tessera {

namespace internal {

// Batches that were prefetched together share it.
struct BatchGroup {
  Tensor kept;                              // where their BatchRows lie
  std::unique_ptr<HostCopy> num_conflicts;  // of each table; null where nobody asks for it
};

}  // namespace internal

struct RowCache::Batch::State {
  internal::BatchRows rows;
  std::shared_ptr<const internal::BatchGroup> group;  // null without ids
  int64_t index = 0;                                  // in the group
  Tensor slots;                                       // the caller's
  int64_t call = 0;

  int64_t Conflicts() const { return group->num_conflicts->Wait().data<int32_t>()[index]; }
  void RecordStream(const Context& ctx) const {
    if (group) group->kept.RecordStream(ctx);
    slots.RecordStream(ctx);
  }
};

struct RowCache::State {
  CacheConfig config;
  std::vector<Tensor> tables, slots;  // parts
  std::unique_ptr<internal::DiskSide> disk;
  Tensor row_ids, ranks, locks, dirty, counters;
  int64_t sets = 1, scratch = 0, calls = 0;
  std::vector<std::shared_ptr<Batch::State>> pending;
  const Batch::State* loaded = nullptr;  // whose rows are in scratch
  bool holds_updates = false;
  Event last_call;
  void* last_stream = nullptr;

  int64_t num_rows() const { return tables[0].dim(0); }
  // Whether the host has to know which rows of a batch found no line: room for them is made by that
  // number, or they come from a disk.
  bool AsksForConflicts() const { return disk != nullptr || config.scratch_rows > 0; }
  int64_t lines() const { return sets * config.ways; }

  internal::CacheView View() const;
  internal::MovedTable TableOf(const Batch::State& batch, bool updated = false) const;
  void MakeSlots(Context& ctx);
  // Makes room for the rows of a batch that find no line, if there is too little.
  void ReserveScratch(Context& ctx, const Batch::State& batch);
  void RecordStream(const Context& ctx) const;
  // Waits for the reads of a batch's prefetch and of earlier ones; for all reads if the batch has
  // rows without a line, since these may move between lines and scratch.
  void FinishReads(Context& ctx, const Batch::State& batch);
  Batch::State& Pending(const Batch& batch) const;

 private:
  internal::RowParts Parts() const;
  void GrowScratch(Context& ctx, int64_t rows);
};

}  // namespace tessera
#endif  // TESSERA_EMBEDDING_CACHE_ROW_CACHE_STATE_H_
