#ifndef TESSERA_EMBEDDING_CACHE_ROW_CACHE_IMPL_H_
#define TESSERA_EMBEDDING_CACHE_ROW_CACHE_IMPL_H_
// The data that a row cache's calls work on, and their dispatch to a device.
#include <span>
#include <utility>

#include "embedding/cache/row_cache.h"
#include "embedding/cache/row_cache_steps.h"
#include "runtime/device/device.h"

namespace tessera::internal {

struct CacheView {
  CacheLines cache;
  RowParts parts;
  int64_t num_rows = 0;
  int64_t* counters = nullptr;
};

// Tensors that a batch keeps on the device between Prefetch and Release. n is its number of ids.
struct BatchTensors {
  int64_t num_ids = 0;
  Tensor rows, slots;               // [n] i64, of which as many as there are distinct rows
  Tensor count;                     // [1] i32: distinct rows
  Tensor conflicts, num_conflicts;  // [n], [1] i32: which of them went to scratch
  // For a table on disk, during its prefetch: ListMoves's [3, n], and how many they are. Pinned.
  Tensor moves, num_moves;
};

// The cache's calls on a device. Defined in row_cache_run.h, once for all devices, and instantiated
// in row_cache_cpu.cc and row_cache_cuda.cu.
template <typename On>
class CacheRun {
 public:
  CacheRun(On, Context& ctx, const CacheView& view) : ctx_(ctx), view_(view) {}

  // Fills `batch` but for num_ids, and `slots`.
  void Prefetch(int64_t call, std::span<const CachedIds> features, const Tensor& slots,
                BatchTensors& batch) const;
  // Between the truth and the scratch slots, of which there are `room`. Of a table on disk: where
  // the truth is a line; and ListScratch's list, pinned, n = min(ids, room).
  Tensor LoadScratch(const BatchTensors& batch, int64_t room) const;
  Tensor StoreScratch(const BatchTensors& batch, int64_t room) const;
  void Unlock(const BatchTensors& batch, bool updated) const;
  void Flush() const;
  // Returns what Flush would write of a table on disk: the lines and their rows, [2, lines], and
  // how many they are; pinned.
  std::pair<Tensor, Tensor> TakeDirty() const;
  // Copies n slots to staged records, which the view has as its table, or fills them from those.
  void Stage(const int64_t* slots, int64_t n, bool fill) const;

 private:
  Context& ctx_;
  const CacheView& view_;
};

}  // namespace tessera::internal
#endif  // TESSERA_EMBEDDING_CACHE_ROW_CACHE_IMPL_H_
