#ifndef TESSERA_SPARSE_OPS_SUM_LENGTHS_H_
#define TESSERA_SPARSE_OPS_SUM_LENGTHS_H_
// Sums of lengths in host memory, several at a time.
#include <cstdint>

namespace tessera::internal {

// Sum of lengths [begin, end), in four chains; all their bits are or-ed into `signs`, so that one
// test finds a negative one.
template <typename T>
int64_t SumLengths(const T* lengths, int64_t begin, int64_t end, T* signs) {
  int64_t sums[4] = {};
  T bits[4] = {};
  int64_t i = begin;
  for (; i + 4 <= end; i += 4) {
#pragma GCC unroll 4
    for (int k = 0; k < 4; ++k) {
      sums[k] += lengths[i + k];
      bits[k] |= lengths[i + k];
    }
  }
  for (; i < end; ++i) {
    sums[0] += lengths[i];
    bits[0] |= lengths[i];
  }
  *signs |= bits[0] | bits[1] | bits[2] | bits[3];
  return sums[0] + sums[1] + sums[2] + sums[3];
}

}  // namespace tessera::internal
#endif  // TESSERA_SPARSE_OPS_SUM_LENGTHS_H_
