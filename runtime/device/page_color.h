#ifndef TESSERA_RUNTIME_DEVICE_PAGE_COLOR_H_
#define TESSERA_RUNTIME_DEVICE_PAGE_COLOR_H_
// Chooses where in its first page a large block begins. Blocks that all begin on a page have row i
// of each at the same place in a page, and first-level caches find lines by that place: a table and
// its optimizer's state then push each other out: on Zen 3 an update by Adagrad at dim 16 takes
// twice as long (bench/results/cpu_2026-11-22.md).
#include <cstdint>

namespace tessera::internal {

inline constexpr int64_t kPageColors = 4096;

// Less than kPageColors, in bytes, a multiple of 128: another one each time, far from the few
// before.
int64_t NextPageColor();

}  // namespace tessera::internal
#endif  // TESSERA_RUNTIME_DEVICE_PAGE_COLOR_H_
