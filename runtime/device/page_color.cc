#include "runtime/device/page_color.h"

#include <atomic>

namespace tessera::internal {

// Blocks that many tables apart are a table and its state: a prime number of colors keeps them
// apart for all numbers of tables but its multiples.
int64_t NextPageColor() {
  constexpr uint32_t kColors = 31, kStep = 9;
  static std::atomic<uint32_t> blocks{0};
  return int64_t{128} *
         (blocks.fetch_add(1, std::memory_order_relaxed) % kColors * kStep % kColors);
}

}  // namespace tessera::internal
