#ifndef TESSERA_RUNTIME_BASE_HOST_DEVICE_H_
#define TESSERA_RUNTIME_BASE_HOST_DEVICE_H_
// TESSERA_HD marks a function that host and device code share. On the host it is always inlined: a
// file compiled for AVX-512 must not leave a copy of a shared function that the linker then keeps
// for every machine.
#if defined(__CUDACC__)
#define TESSERA_HD __host__ __device__ __forceinline__
#else
#define TESSERA_HD inline __attribute__((always_inline))
#endif
#endif  // TESSERA_RUNTIME_BASE_HOST_DEVICE_H_
