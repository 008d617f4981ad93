// How much memory flushes the caches.
#include "bench/harness/cache_flusher.h"

#include <algorithm>

#include "bench/facts/cache_sizes.h"
#include "gtest/gtest.h"

namespace tessera::bench {
namespace {

TEST(CacheFlusherTest, ReadsNoMoreThanACoreCanFill) {
  int64_t largest = 0;
  for (const DataCache& cache : DataCaches()) largest = std::max(largest, cache.bytes);
  if (largest == 0) GTEST_SKIP() << "this kernel does not say what caches there are";
  EXPECT_EQ(LastLevelCacheBytes(), std::max<int64_t>(largest, 32 << 20));
}

}  // namespace
}  // namespace tessera::bench
