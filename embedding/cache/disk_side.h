#ifndef TESSERA_EMBEDDING_CACHE_DISK_SIDE_H_
#define TESSERA_EMBEDDING_CACHE_DISK_SIDE_H_
// The row cache's side towards a table on disk (storage/disk_table.h). The device's steps list
// which rows move (row_cache_run.h); here they pass between slots, records staged in pinned memory,
// and the disk.
//
//   Prefetch   changed rows that leave are written; reads of those that come are started
//   Load       the reads of this call, and of calls before it, are waited for, and go to their
//              lines
//
// A line is so in its row's hands from the prefetch on, and holds it from the load on. Nobody
// writes to a line between: a batch is updated after its load, and scratch goes to lines after all
// reads. Rows without a line are read when they are loaded, since another batch may change them
// before.
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "embedding/cache/row_cache_impl.h"
#include "embedding/storage/disk_table.h"
#include "runtime/tensor.h"

namespace tessera::internal {

class DiskSide {
 public:
  explicit DiskSide(std::shared_ptr<DiskTable> table) : table_(std::move(table)) {}
  DiskTable& table() { return *table_; }

  // After the steps of a prefetch, calls rising. Waits for the device.
  void Prefetch(Context& ctx, const CacheView& view, int64_t call, const BatchMemory& batch);
  // Throws Error for what cannot be read; it may be called again.
  void FinishReads(Context& ctx, const CacheView& view, int64_t up_to_call);
  // REQUIRES: all reads are finished, where there are conflicts. Wait for the device.
  void LoadScratch(Context& ctx, const CacheView& view, const MovedTable& batch, int64_t conflicts,
                   int64_t room);
  void StoreScratch(Context& ctx, const CacheView& view, const MovedTable& batch, int64_t conflicts,
                    int64_t room);
  void Flush(Context& ctx, const CacheView& view);

 private:
  struct Reading {
    int64_t call;
    std::vector<int64_t> rows;
    Tensor slots, staged;
    RowLog::Read read;
  };
  RowLog::Read StartRead(const std::vector<int64_t>& rows, const Tensor& staged);
  Tensor Staging(Context& ctx, int64_t rows) const;
  CacheView Staged(const CacheView& view, const Tensor& staging) const;
  // slots: of the rows, in order.
  void WriteSlots(Context& ctx, const CacheView& view, const std::vector<int64_t>& rows,
                  const std::vector<int64_t>& slots);
  void Fill(Context& ctx, const CacheView& view, const Tensor& slots, const Tensor& staged) const;

  std::shared_ptr<DiskTable> table_;
  std::deque<Reading> reads_;  // in the order of their calls
};

}  // namespace tessera::internal
#endif  // TESSERA_EMBEDDING_CACHE_DISK_SIDE_H_
