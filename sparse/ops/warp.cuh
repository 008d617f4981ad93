#ifndef TESSERA_SPARSE_OPS_WARP_CUH_
#define TESSERA_SPARSE_OPS_WARP_CUH_
// A warp an item, in blocks of one dimension. For .cu files.
#include <cmath>

#include "runtime/launch.cuh"
#include "runtime/numbers/lanes.h"

namespace tessera::internal {

inline dim3 BlocksOfWarps(int64_t items, unsigned threads) {
  return BlocksFor(items * kLanes, threads);
}

__device__ __forceinline__ int Lane() { return static_cast<int>(threadIdx.x % kLanes); }

// The number of this warp in the grid.
__device__ __forceinline__ int64_t GlobalWarp() {
  return static_cast<int64_t>(blockIdx.x) * (blockDim.x / kLanes) + threadIdx.x / kLanes;
}

// The sum over the lanes, in the order of FoldLanes; every lane gets it.
template <typename Real>
__device__ __forceinline__ Real FoldWarp(Real sum) {
  for (int half = kLanes / 2; half > 0; half /= 2) sum += __shfl_xor_sync(~0u, sum, half);
  return sum;
}

__device__ __forceinline__ float LargestOfWarp(float x) {
  for (int half = kLanes / 2; half > 0; half /= 2) x = fmaxf(x, __shfl_xor_sync(~0u, x, half));
  return x;
}

}  // namespace tessera::internal
#endif  // TESSERA_SPARSE_OPS_WARP_CUH_
