#ifndef TESSERA_RUNTIME_PTX_CUH_
#define TESSERA_RUNTIME_PTX_CUH_
// Instructions that CUDA C++ has no word for in small functions, each with a plain twin for the
// emulator. For .cu files.
#include <cuda_runtime.h>

#include <cstdint>
#include <cstring>

#include "runtime/numbers/float16.h"

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

// Stores four floats, 16-byte aligned, to shared memory by one instruction: nvcc may make four of a
// store behind branches.
__device__ __forceinline__ void StoreShared(float* shared, const float4& x) {
#if defined(__CUDACC__)
  asm volatile("st.shared.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(
                   static_cast<unsigned>(__cvta_generic_to_shared(shared))),
               "f"(x.x), "f"(x.y), "f"(x.z), "f"(x.w)
               : "memory");
#else
  *reinterpret_cast<float4*>(shared) = x;
#endif
}

// Four floats of global memory, 16-byte aligned, or zeros where `wanted` is false, without a branch
// and without a copy of what was loaded, which would wait for it.
__device__ __forceinline__ float4 LoadGlobalIf(const float* global, bool wanted) {
#if defined(__CUDACC__)
  float4 x;
  asm volatile(
      "{\n"
      "  .reg .pred p;\n"
      "  setp.ne.u32 p, %5, 0;\n"
      "  mov.f32 %0, 0f00000000;\n"
      "  mov.f32 %1, 0f00000000;\n"
      "  mov.f32 %2, 0f00000000;\n"
      "  mov.f32 %3, 0f00000000;\n"
      "  @p ld.global.v4.f32 {%0, %1, %2, %3}, [%4];\n"
      "}"
      : "=f"(x.x), "=f"(x.y), "=f"(x.z), "=f"(x.w)
      : "l"(__cvta_generic_to_global(global)), "r"(static_cast<unsigned>(wanted)));
  return x;
#else
  return wanted ? *reinterpret_cast<const float4*>(global) : float4{0, 0, 0, 0};
#endif
}

// Likewise four elements of 16 bits, 8-byte aligned.
__device__ __forceinline__ uint2 LoadGlobalIf(const uint16_t* global, bool wanted) {
#if defined(__CUDACC__)
  uint2 x;
  asm volatile(
      "{\n"
      "  .reg .pred p;\n"
      "  setp.ne.u32 p, %3, 0;\n"
      "  mov.u32 %0, 0;\n"
      "  mov.u32 %1, 0;\n"
      "  @p ld.global.v2.u32 {%0, %1}, [%2];\n"
      "}"
      : "=r"(x.x), "=r"(x.y)
      : "l"(__cvta_generic_to_global(global)), "r"(static_cast<unsigned>(wanted)));
  return x;
#else
  return wanted ? *reinterpret_cast<const uint2*>(global) : uint2{0, 0};
#endif
}

// Asks for the cache line at `global` to be brought to the second level. Any address is harmless.
__device__ __forceinline__ void PrefetchL2(const void* global) {
#if defined(__CUDACC__)
  asm volatile("prefetch.global.L2 [%0];" ::"l"(global));
#else
  (void)global;
#endif
}

// Conversions between a 16-bit float's bits and float, to nearest, ties to even: the bits of
// runtime/numbers/float16.h (but for the payload of a NaN).
__device__ __forceinline__ float WidenHalf(uint16_t bits) {
#if defined(__CUDACC__)
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
  return value;
#else
  return HalfBitsToFloat(bits);
#endif
}
__device__ __forceinline__ uint16_t NarrowToHalf(float value) {
#if defined(__CUDACC__)
  uint16_t bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
#else
  return FloatToHalfBits(value);
#endif
}
__device__ __forceinline__ uint16_t NarrowToBFloat16(float value) {
#if defined(__CUDACC__)
  uint16_t bits;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
#else
  return BFloat16(value).bits;
#endif
}

// Starts a copy of 8 or 16 bytes from global to shared memory that passes by the registers; where
// `wanted` is false, of zeros, and any address is harmless. Addresses are multiples of kBytes.
template <int kBytes>
__device__ __forceinline__ void CopyAsyncIf(void* shared, const void* global, bool wanted) {
  static_assert(kBytes == 8 || kBytes == 16);
#if defined(__CUDACC__)
  const unsigned to = static_cast<unsigned>(__cvta_generic_to_shared(shared)),
                 bytes = wanted ? kBytes : 0;
  if constexpr (kBytes == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(global), "r"(bytes)
                 : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(to), "l"(global), "r"(bytes)
                 : "memory");
#else
  if (wanted)
    std::memcpy(shared, global, kBytes);
  else
    std::memset(shared, 0, kBytes);
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
