#ifndef TESSERA_RUNTIME_OPS_KERNELS_WARP_LANES_CUH_
#define TESSERA_RUNTIME_OPS_KERNELS_WARP_LANES_CUH_
// A warp as the lanes of row_lanes.h, and rows run by a warp each. For .cu files.
#include "runtime/context.h"
#include "runtime/launch.cuh"
#include "runtime/ops/kernels/row_lanes.h"

namespace tessera::internal {

// REQUIRES: all threads of the warp call together.
struct WarpLanes {
  __device__ static int lane() { return static_cast<int>(threadIdx.x) % kLanes; }

  template <typename Term>
  __device__ auto Sum(int64_t n, Term term) const {
    decltype(term(n)) sum = 0;
    for (int64_t i = lane(); i < n; i += kLanes) sum += term(i);
    for (int half = kLanes / 2; half > 0; half /= 2) sum += __shfl_xor_sync(~0u, sum, half);
    return sum;
  }
  template <typename Term>
  __device__ float Max(int64_t n, Term term) const {
    float largest = -std::numeric_limits<float>::infinity();
    for (int64_t i = lane(); i < n; i += kLanes) largest = term(i) > largest ? term(i) : largest;
    for (int half = kLanes / 2; half > 0; half /= 2) {
      const float other = __shfl_xor_sync(~0u, largest, half);
      largest = other > largest ? other : largest;
    }
    return largest;
  }
  template <typename Fn>
  __device__ void Each(int64_t n, Fn fn) const {
    for (int64_t i = lane(); i < n; i += kLanes) fn(i);
    __syncwarp();
  }
  __device__ bool first() const { return lane() == 0; }
};

inline constexpr int kWarpsOfABlock = 8;

template <typename Functor>
__global__ void RowsKernel(int64_t rows, Functor functor) {
  const int64_t warps = int64_t{gridDim.x} * kWarpsOfABlock;
  for (int64_t row = int64_t{blockIdx.x} * kWarpsOfABlock + threadIdx.x / kLanes; row < rows;
       row += warps)
    functor(WarpLanes{}, row);
}

template <typename Functor>
void RunRows(OnCuda, Context& ctx, int64_t rows, int64_t /*grain*/, const Functor& functor) {
  Launch(ctx, RowsKernel<Functor>, BlocksFor(rows, kWarpsOfABlock), dim3(kWarpsOfABlock * kLanes),
         0, rows, functor);
}

// Compiles a functor for CUDA. In namespace tessera::internal.
#define TESSERA_ROWS_ON_CUDA(Functor) \
  template void RunRows(OnCuda, Context&, int64_t, int64_t, const Functor&)

}  // namespace tessera::internal
#endif  // TESSERA_RUNTIME_OPS_KERNELS_WARP_LANES_CUH_
