#ifndef TESSERA_EMBEDDING_CACHE_ROW_CACHE_IMPL_H_
#define TESSERA_EMBEDDING_CACHE_ROW_CACHE_IMPL_H_
// Private to the row cache: what its calls work on, and how they reach a device.
#include <span>

#include "embedding/cache/row_cache.h"
#include "embedding/cache/row_cache_steps.h"
#include "runtime/device.h"

namespace tessera::internal {

struct CacheView {
  CacheLines cache;
  RowParts parts;
  int64_t num_rows = 0;
  int64_t* counters = nullptr;
};

// What a batch keeps between Prefetch and Release, on the device. n is its number of ids.
struct BatchTensors {
  int64_t num_ids = 0;
  Tensor rows, slots;               // [n] i64, of which as many as there are distinct rows
  Tensor count;                     // [1] i32: distinct rows
  Tensor conflicts, num_conflicts;  // [n], [1] i32: which of them went to scratch
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
  // Between the truth and the scratch slots, of which there are `room`.
  void LoadScratch(const BatchTensors& batch, int64_t room) const;
  void StoreScratch(const BatchTensors& batch, int64_t room) const;
  void Unlock(const BatchTensors& batch, bool updated) const;
  void Flush() const;

 private:
  Context& ctx_;
  const CacheView& view_;
};

}  // namespace tessera::internal
#endif  // TESSERA_EMBEDDING_CACHE_ROW_CACHE_IMPL_H_
