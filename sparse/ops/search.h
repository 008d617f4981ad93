#ifndef TESSERA_SPARSE_OPS_SEARCH_H_
#define TESSERA_SPARSE_OPS_SEARCH_H_
// Binary search in sorted numbers, by host and device code.
#include <cstdint>

#include "runtime/base/host_device.h"

namespace tessera::internal {

// How many of sorted[0 … n) come before x: are less than it, or not greater (`or_equal`). Reads
// nothing outside, whatever the order.
template <typename T>
TESSERA_HD int64_t CountBefore(const T* sorted, int64_t n, T x, bool or_equal) {
  int64_t low = 0;
  while (low < n) {
    const int64_t middle = low + (n - low) / 2;
    if (or_equal ? sorted[middle] <= x : sorted[middle] < x)
      low = middle + 1;
    else
      n = middle;
  }
  return low;
}

// The segment, in [first, last], that `row` lies in: the last that begins at it or before.
TESSERA_HD int64_t SegmentOf(const int64_t* offsets, int64_t first, int64_t last, int64_t row) {
  return first + CountBefore(offsets + first + 1, last - first, row, /*or_equal=*/true);
}

}  // namespace tessera::internal
#endif  // TESSERA_SPARSE_OPS_SEARCH_H_
