#ifndef TESSERA_RUNTIME_PTX_CUH_
#define TESSERA_RUNTIME_PTX_CUH_
// What CUDA C++ has no word for: the machine's instructions in small functions, each with a plain
// twin for the emulator. For .cu files.
#include <cuda_runtime.h>

#include <cstdint>

namespace tessera::internal {

// The block's dynamic shared memory, as large as the launch asked for.
template <typename T>
__device__ __forceinline__ T* DynamicShared() {
#if defined(__CUDACC__)
  extern __shared__ __align__(16) unsigned char tessera_dynamic_shared[];
  return reinterpret_cast<T*>(tessera_dynamic_shared);
#else
  return static_cast<T*>(cuda_emulation::DynamicShared());
#endif
}

// Starts a copy of 16 bytes from global to shared memory that passes by the registers and the first
// level of cache. Both addresses are multiples of 16.
__device__ __forceinline__ void CopyAsync16(void* shared, const void* global) {
#if defined(__CUDACC__)
  const unsigned to = static_cast<unsigned>(__cvta_generic_to_shared(shared));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(global) : "memory");
#else
  *static_cast<uint4*>(shared) = *static_cast<const uint4*>(global);
#endif
}
// Closes a group of the copies started by this thread.
__device__ __forceinline__ void CommitCopies() {
#if defined(__CUDACC__)
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
// Waits until at most kPending groups of this thread are on their way.
template <int kPending>
__device__ __forceinline__ void WaitForCopies() {
#if defined(__CUDACC__)
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
#endif
}

}  // namespace tessera::internal
#endif  // TESSERA_RUNTIME_PTX_CUH_
