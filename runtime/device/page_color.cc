#include "runtime/device/page_color.h"

#include <atomic>

namespace tessera::internal {

// A table and its state are as many blocks apart as there are tables: a prime number of colors
// gives them different colors unless that is a multiple of it.
int64_t NextPageColor() {
  constexpr uint32_t kColors = 31, kStep = 9;
  static std::atomic<uint32_t> blocks{0};
  return int64_t{128} *
         (blocks.fetch_add(1, std::memory_order_relaxed) % kColors * kStep % kColors);
}

}  // namespace tessera::internal
