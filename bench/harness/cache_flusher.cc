#include "bench/harness/cache_flusher.h"

#include <unistd.h>

#include <algorithm>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "bench/facts/cache_sizes.h"

namespace tessera::bench {
namespace {

int64_t SysfsCacheBytes() {
  int64_t most = 0;
  for (const DataCache& cache : DataCaches()) most = std::max(most, cache.bytes);
  return most;
}

#if defined(__x86_64__)
// The largest cache of a "deterministic cache parameters" leaf: 4 on Intel, 0x8000001D on AMD.
int64_t LeafCacheBytes(unsigned leaf) {
  int64_t most = 0;
  for (unsigned index = 0; index < 8; ++index) {
    unsigned a = 0, b = 0, c = 0, d = 0;
    if (!__get_cpuid_count(leaf, index, &a, &b, &c, &d) || (a & 31) == 0) break;
    const int64_t ways = (b >> 22) + 1, partitions = ((b >> 12) & 1023) + 1, line = (b & 4095) + 1;
    most = std::max(most, ways * partitions * line * (int64_t{c} + 1));
  }
  return most;
}

int64_t CpuidCacheBytes() { return std::max(LeafCacheBytes(4), LeafCacheBytes(0x8000001D)); }
#else
int64_t CpuidCacheBytes() { return 0; }
#endif

}  // namespace

// AMD's processors have a cache for each core complex, of which a core fills one; sysconf adds up
// all of them.
int64_t LastLevelCacheBytes() {
  constexpr int64_t kLeast = 32 << 20;
  const int64_t told = std::max(SysfsCacheBytes(), CpuidCacheBytes());
  return std::max(kLeast, told > 0 ? told : int64_t{sysconf(_SC_LEVEL3_CACHE_SIZE)});
}

CacheFlusher::CacheFlusher(Context& ctx, int64_t bytes)
    : memory_(Tensor::Zeros(ctx, {bytes > 0 ? bytes : 2 * LastLevelCacheBytes()}, DType::kU8)) {}

void CacheFlusher::Flush(Context& ctx) {
  const uint8_t* bytes = memory_.data<uint8_t>();
  ParallelFor(ctx, memory_.numel(), memory_.numel() / ctx.threads().threads(),
              [&](int64_t begin, int64_t end) {
                int64_t sum = 0;
                for (int64_t i = begin; i < end; i += 64) sum += bytes[i];
                sink_.fetch_add(sum, std::memory_order_relaxed);
              });
}

}  // namespace tessera::bench
