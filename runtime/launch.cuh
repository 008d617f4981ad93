#ifndef TESSERA_RUNTIME_LAUNCH_CUH_
#define TESSERA_RUNTIME_LAUNCH_CUH_
// The only way that kernels are started, so that the emulator can run them, and every launch is
// checked. For .cu files.
#include <algorithm>
#include <type_traits>

#include "runtime/base/check.h"
#include "runtime/context.h"
#include "runtime/device/cuda_check.h"
#include "runtime/device/device_properties.h"
#include "runtime/ptx.cuh"

namespace tessera::internal {

// Throws Error, with the kernel's name, unless error is cudaSuccess; in debug builds waits for the
// kernel first.
void CheckLaunch(cudaError_t error, const void* kernel, dim3 grid, dim3 block, size_t shared_bytes,
                 const Stream& stream);
// Lets a kernel have more than 48 KiB of dynamic shared memory; throws Error if the device lacks
// it.
void AllowShared(const void* kernel, size_t bytes, Device device);

// Starts kernel(args…) on ctx's stream; nothing for a grid without blocks.
template <typename... Params, typename... Args>
void Launch(Context& ctx, void (*kernel)(Params...), dim3 grid, dim3 block, size_t shared_bytes,
            Args&&... args) {
  if (grid.x == 0 || grid.y == 0 || grid.z == 0) return;
  const void* address = reinterpret_cast<const void*>(kernel);
  TESSERA_CHECK(block.x * block.y * block.z % 32 == 0 && grid.y < 65536 && grid.z < 65536,
                "launch of ({}, {}, {}) blocks of {} threads", grid.x, grid.y, grid.z,
                block.x * block.y * block.z);
  UseDevice(ctx.device());
  if (shared_bytes > (48 << 10)) AllowShared(address, shared_bytes, ctx.device());
  cudaLaunchConfig_t config = {};
  config.gridDim = grid;
  config.blockDim = block;
  config.dynamicSmemBytes = shared_bytes;
  config.stream = CudaStream(ctx.stream());
  const cudaError_t error =
      cudaLaunchKernelEx(&config, kernel, static_cast<std::decay_t<Params>>(args)...);
  CheckLaunch(error, address, grid, block, shared_bytes, ctx.stream());
}

// Blocks of `threads` for n items, one each; enough for a loop by strides of the grid when n is
// more than a grid can have.
inline dim3 BlocksFor(int64_t n, int64_t threads) {
  return dim3(static_cast<unsigned>(std::min<int64_t>((n + threads - 1) / threads, 1 << 30)));
}

template <typename Fn>
__global__ void ForEachKernel(int64_t n, const __grid_constant__ Fn fn) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += step)
    fn(i);
}

// fn(i) for every i in [0, n), each by one thread, neighbours by neighbours. Fn: a trivially
// copyable struct with `TESSERA_HD void operator()(int64_t i) const`.
template <typename Fn>
void ForEach(Context& ctx, int64_t n, const Fn& fn) {
  static_assert(std::is_trivially_copyable_v<Fn>);
  constexpr int kThreads = 256;
  // Launches as many blocks as the device holds at once, a few times over: later items are reached
  // by strides.
  const int64_t most = int64_t{32} * PropertiesOf(ctx.device()).multiprocessors;
  const int64_t blocks = std::min((n + kThreads - 1) / kThreads, most);
  Launch(ctx, ForEachKernel<Fn>, dim3(static_cast<unsigned>(blocks)), dim3(kThreads), 0, n, fn);
}
template <typename Fn>
void ForEach(OnCuda, Context& ctx, int64_t n, int64_t /*grain*/, const Fn& fn) {
  ForEach(ctx, n, fn);
}

}  // namespace tessera::internal
#endif  // TESSERA_RUNTIME_LAUNCH_CUH_
