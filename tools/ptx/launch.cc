// The part of CUDA's runtime that knows kernels: launches, and what a kernel needs and may have.
// Streams, memory, events and graphs are the emulator's (tools/emulation).
#include <cuda_runtime.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <mutex>
#include <vector>

#include "tools/emulation/emulation.h"
#include "tools/emulation/stream.h"
#include "tools/ptx/interpreter.h"
#include "tools/ptx/register.h"

namespace {

using cuda_emulation::Lock;
using cuda_emulation::Result;
using cuda_emulation::Shape;

constexpr int kArchitecture = 90;
constexpr uint64_t kMaxShared = 227 << 10;

ptx::Extent3 Sizes(const cuda_emulation::Extent& e) { return {e.x, e.y, e.z}; }
cuda_emulation::Extent Sizes(const dim3& d) { return {d.x, d.y, d.z}; }

// The arguments lie where the kernel reads them, each at its offset.
std::function<void()> Bind(const ptx::Function& kernel, const Shape& shape, void** args) {
  std::vector<char> params(kernel.param_bytes);
  for (size_t k = 0; k < kernel.params.size(); ++k)
    std::memcpy(params.data() + kernel.params[k].first, args[k], kernel.params[k].second);
  return [&kernel, shape, params = std::move(params)] {
    ptx::RunGrid(kernel, Sizes(shape.grid), Sizes(shape.block), shape.shared_bytes, params.data());
  };
}

cudaError_t Enqueue(const void* host, const Shape& shape, void** args, cudaStream_t stream) {
  const ptx::Kernel* kernel = ptx::KernelOf(host);
  if (kernel == nullptr) return cudaErrorInvalidDeviceFunction;
  const ptx::Function& f = kernel->function();
  const unsigned threads = shape.block.x * shape.block.y * shape.block.z;
  if (threads == 0 || threads > static_cast<unsigned>(f.max_threads) || shape.grid.x == 0 ||
      shape.grid.y == 0 || shape.grid.z == 0 || shape.grid.y > 65535 || shape.grid.z > 65535)
    return cudaErrorInvalidConfiguration;
  if (shape.shared_bytes + f.shared_bytes > kernel->most_shared) return cudaErrorInvalidValue;
  cuda_emulation::EnqueueLaunch(stream, shape, args, [&f](const Shape& own_shape, void** own_args) {
    return Bind(f, own_shape, own_args);
  });
  return cudaSuccess;
}

cudaError_t Launch(const void* host, const Shape& shape, void** args, cudaStream_t stream) {
  const std::lock_guard lock(Lock());
  return Result(Enqueue(host, shape, args, stream));
}

// The blocks that the threads of a multiprocessor allow.
int BlocksHeld(int threads) { return std::max(1, 2048 / std::max(threads, 1)); }

}  // namespace

extern "C" {

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* c, const void* host, void** args) {
  return Launch(host, {Sizes(c->gridDim), Sizes(c->blockDim), c->dynamicSmemBytes}, args,
                c->stream);
}
cudaError_t cudaLaunchKernel(const void* host, dim3 grid, dim3 block, void** args, size_t bytes,
                             cudaStream_t stream) {
  return Launch(host, {Sizes(grid), Sizes(block), bytes}, args, stream);
}
cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* host) {
  *kernel = reinterpret_cast<cudaKernel_t>(const_cast<void*>(host));
  return cudaSuccess;
}
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** args,
                               size_t bytes, cudaStream_t stream) {
  return Launch(reinterpret_cast<const void*>(kernel), {Sizes(grid), Sizes(block), bytes}, args,
                stream);
}

cudaError_t cudaFuncGetName(const char** name, const void* host) {
  const ptx::Kernel* kernel = ptx::KernelOf(host);
  *name = kernel == nullptr ? nullptr : kernel->name.c_str();
  return kernel == nullptr ? cudaErrorInvalidDeviceFunction : cudaSuccess;
}
cudaError_t cudaFuncSetAttribute(const void* host, cudaFuncAttribute attribute, int value) {
  const std::lock_guard lock(Lock());
  ptx::Kernel* kernel = ptx::KernelOf(host);
  if (kernel == nullptr) return Result(cudaErrorInvalidDeviceFunction);
  if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize) return cudaSuccess;
  const uint64_t bytes = static_cast<uint64_t>(value) + kernel->function().shared_bytes;
  if (value < 0 || bytes > kMaxShared) return Result(cudaErrorInvalidValue);
  kernel->most_shared = bytes;
  return cudaSuccess;
}
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* host) {
  const std::lock_guard lock(Lock());
  const ptx::Kernel* kernel = ptx::KernelOf(host);
  if (kernel == nullptr) return cudaErrorInvalidDeviceFunction;
  const ptx::Function& f = kernel->function();
  *attributes = {};
  attributes->ptxVersion = attributes->binaryVersion = kArchitecture;
  attributes->sharedSizeBytes = f.shared_bytes;
  attributes->localSizeBytes = f.local_bytes;
  attributes->maxThreadsPerBlock = f.max_threads;
  attributes->maxDynamicSharedSizeBytes = 48 << 10;
  return cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void*, int threads,
                                                          size_t) {
  *blocks = BlocksHeld(threads);
  return cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void*,
                                                                   int threads, size_t, unsigned) {
  *blocks = BlocksHeld(threads);
  return cudaSuccess;
}

// CUB asks these besides.
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  cudaDeviceProp p;
  const cudaError_t error = cudaGetDeviceProperties(&p, device);
  if (error != cudaSuccess) return error;
  switch (attribute) {
    case cudaDevAttrComputeCapabilityMajor:
      *value = p.major;
      return cudaSuccess;
    case cudaDevAttrComputeCapabilityMinor:
      *value = p.minor;
      return cudaSuccess;
    case cudaDevAttrMultiProcessorCount:
      *value = p.multiProcessorCount;
      return cudaSuccess;
    case cudaDevAttrMaxSharedMemoryPerBlock:
      *value = 48 << 10;
      return cudaSuccess;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      *value = static_cast<int>(kMaxShared);
      return cudaSuccess;
    case cudaDevAttrMaxGridDimX:
      *value = 0x7fffffff;
      return cudaSuccess;
    case cudaDevAttrMaxThreadsPerBlock:
      *value = 1024;
      return cudaSuccess;
    default:
      return cudaErrorInvalidValue;
  }
}

}  // extern "C"
