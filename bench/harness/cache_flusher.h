#ifndef TESSERA_BENCH_HARNESS_CACHE_FLUSHER_H_
#define TESSERA_BENCH_HARNESS_CACHE_FLUSHER_H_
// Fills all caches with something else, so that what is timed next reads from memory.
//
// Reads twice the largest cache that /sys or the processor itself (CPUID) reports, since a guest's
// /sys may show less than the processor has. Reads, not writes: lines that wait to be written back
// would be paid for by what is timed.
#include <atomic>
#include <cstdint>

#include "runtime/context.h"
#include "runtime/tensor.h"

namespace tessera::bench {

// Bytes of the last-level cache; at least 32 MiB.
int64_t LastLevelCacheBytes();

class CacheFlusher {
 public:
  // bytes: how much is read; 0: twice LastLevelCacheBytes().
  explicit CacheFlusher(Context& ctx, int64_t bytes = 0);
  // Flushes caches by all threads of the context, a part each.
  void Flush(Context& ctx);

 private:
  Tensor memory_;
  std::atomic<int64_t> sink_ = 0;
};

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_HARNESS_CACHE_FLUSHER_H_
