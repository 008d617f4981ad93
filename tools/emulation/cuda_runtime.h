#ifndef TESSERA_TOOLS_EMULATION_CUDA_RUNTIME_H_
#define TESSERA_TOOLS_EMULATION_CUDA_RUNTIME_H_
// Stands in for CUDA's header of this name under --config=emulated: the part of the language and of
// the runtime's C interface that Tessera uses, with the same names, meanings and errors.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <tuple>
#include <type_traits>
#include <utility>

#include "tools/emulation/emulation.h"

// ---- language

#define TESSERA_CUDA_EMULATION 1

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __shared__ static  // blocks run one after another
#define __launch_bounds__(...)
#define __grid_constant__
#define __restrict__ __restrict
#define __align__(n) __attribute__((aligned(n)))

struct dim3 {
  unsigned x = 1, y = 1, z = 1;
  constexpr dim3(unsigned vx = 1, unsigned vy = 1, unsigned vz = 1) : x(vx), y(vy), z(vz) {}
};
struct alignas(8) float2 {
  float x, y;
};
struct alignas(16) float4 {
  float x, y, z, w;
};
struct alignas(8) int2 {
  int x, y;
};
struct alignas(16) int4 {
  int x, y, z, w;
};
struct alignas(8) uint2 {
  unsigned x, y;
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};

inline const cuda_emulation::Extent& threadIdx = cuda_emulation::current.thread;
inline const cuda_emulation::Extent& blockIdx = cuda_emulation::current.block;
inline const cuda_emulation::Extent& blockDim = cuda_emulation::current.block_dim;
inline const cuda_emulation::Extent& gridDim = cuda_emulation::current.grid_dim;

namespace cuda_emulation {
template <typename T>
uint64_t ToBits(T v) {
  static_assert(sizeof(T) <= 8 && std::is_trivially_copyable_v<T>);
  uint64_t bits = 0;
  std::memcpy(&bits, &v, sizeof v);
  return bits;
}
template <typename T>
T FromBits(uint64_t bits) {
  T v;
  std::memcpy(&v, &bits, sizeof v);
  return v;
}
template <typename T>
T Shuffle(unsigned mask, T v, int source) {
  return FromBits<T>(ExchangeInWarp(WarpCall::kShuffle, mask, ToBits(v), source));
}
// A lane outside the caller's group of `width` stands for the caller's own.
inline int WithinGroup(int source, int width) {
  return (source ^ current.lane) & ~(width - 1) ? current.lane : source;
}
}  // namespace cuda_emulation

// By the machine's instruction, if it has one: compilers that must not count on it call libm.
#if defined(__x86_64__) && !defined(__FMA__)
namespace cuda_emulation {
inline const bool has_fma = __builtin_cpu_supports("fma") != 0;
}
inline float __fmaf_rn(float a, float b, float c) {
  if (!cuda_emulation::has_fma) return std::fma(a, b, c);
  asm("vfmadd231ss %2, %1, %0" : "+x"(c) : "x"(a), "x"(b));
  return c;
}
#else
inline float __fmaf_rn(float a, float b, float c) { return std::fma(a, b, c); }
#endif

inline void __syncthreads() { cuda_emulation::SyncBlock(); }
inline int __syncthreads_count(int predicate) {
  return cuda_emulation::SumOverBlock(predicate != 0);
}
inline int __syncthreads_or(int predicate) { return __syncthreads_count(predicate) != 0; }
inline void __syncwarp(unsigned mask = ~0u) {
  cuda_emulation::ExchangeInWarp(cuda_emulation::WarpCall::kSync, mask, 0, 0);
}
template <typename T>
T __shfl_sync(unsigned mask, T v, int source, int width = 32) {
  const int lane = cuda_emulation::current.lane;
  return cuda_emulation::Shuffle(mask, v, (lane & ~(width - 1)) | (source & (width - 1)));
}
// Groups before the caller's can be read, those after it not.
template <typename T>
T __shfl_xor_sync(unsigned mask, T v, int flip, int width = 32) {
  const int lane = cuda_emulation::current.lane, source = lane ^ flip;
  return cuda_emulation::Shuffle(mask, v, source <= (lane | (width - 1)) ? source : lane);
}
template <typename T>
T __shfl_up_sync(unsigned mask, T v, unsigned delta, int width = 32) {
  const int source = cuda_emulation::current.lane - static_cast<int>(delta);
  return cuda_emulation::Shuffle(mask, v, cuda_emulation::WithinGroup(source, width));
}
template <typename T>
T __shfl_down_sync(unsigned mask, T v, unsigned delta, int width = 32) {
  const int source = cuda_emulation::current.lane + static_cast<int>(delta);
  return cuda_emulation::Shuffle(mask, v, cuda_emulation::WithinGroup(source, width));
}
inline unsigned __ballot_sync(unsigned mask, int predicate) {
  return static_cast<unsigned>(
      cuda_emulation::ExchangeInWarp(cuda_emulation::WarpCall::kBallot, mask, predicate != 0, 0));
}
inline int __any_sync(unsigned mask, int predicate) { return __ballot_sync(mask, predicate) != 0; }
inline int __all_sync(unsigned mask, int predicate) {
  return __ballot_sync(mask, predicate == 0) == 0;
}

inline void __threadfence() {}
inline void __threadfence_block() {}
template <typename T>
T __ldg(const T* p) {
  return *p;
}
template <typename T>
T __ldcs(const T* p) {
  return *p;
}
template <typename T>
T __ldcg(const T* p) {
  return *p;
}
template <typename T>
void __stcs(T* p, T v) {
  *p = v;
}
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __clz(int x) { return x ? __builtin_clz(static_cast<unsigned>(x)) : 32; }

// No float atomics: their order would decide bits.
template <typename T>
T atomicAdd(T* p, T v) {
  static_assert(std::is_integral_v<T>);
  const T old = *p;
  *p = old + v;
  return old;
}
template <typename T>
T atomicMax(T* p, T v) {
  const T old = *p;
  if (v > old) *p = v;
  return old;
}
template <typename T>
T atomicMin(T* p, T v) {
  const T old = *p;
  if (v < old) *p = v;
  return old;
}
template <typename T>
T atomicExch(T* p, T v) {
  return std::exchange(*p, v);
}
template <typename T>
T atomicOr(T* p, T v) {
  return std::exchange(*p, *p | v);
}
template <typename T>
T atomicCAS(T* p, T expected, T v) {
  const T old = *p;
  if (old == expected) *p = v;
  return old;
}

// ---- the runtime's C interface

enum cudaError_t {
  cudaSuccess = 0,
  cudaErrorInvalidValue = 1,
  cudaErrorMemoryAllocation = 2,
  cudaErrorInvalidConfiguration = 9,
  cudaErrorInvalidDevice = 101,
  cudaErrorInvalidResourceHandle = 400,
  cudaErrorNotReady = 600,
  cudaErrorStreamCaptureUnsupported = 900,
  cudaErrorStreamCaptureInvalidated = 901,
  cudaErrorStreamCaptureIsolation = 905,
  cudaErrorCapturedEvent = 907,
};
const char* cudaGetErrorName(cudaError_t error);
const char* cudaGetErrorString(cudaError_t error);
cudaError_t cudaGetLastError();
cudaError_t cudaPeekAtLastError();

struct cudaUUID_t {
  char bytes[16];
};
struct cudaDeviceProp {
  char name[256];
  cudaUUID_t uuid;
  size_t totalGlobalMem, sharedMemPerBlockOptin, sharedMemPerMultiprocessor;
  int major, minor, multiProcessorCount, l2CacheSize, regsPerMultiprocessor;
  int maxThreadsPerMultiProcessor;
};
cudaError_t cudaGetDeviceCount(int* count);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device);
cudaError_t cudaGetDevice(int* device);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaDeviceSynchronize();

using cudaStream_t = struct CUstream_st*;
using cudaEvent_t = struct CUevent_st*;
constexpr unsigned cudaStreamNonBlocking = 1, cudaEventDefault = 0, cudaEventDisableTiming = 2;
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamQuery(cudaStream_t stream);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags = 0);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventQuery(cudaEvent_t event);
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end);

using cudaMemPool_t = struct CUmemPoolHandle_st*;
enum cudaMemPoolAttr { cudaMemPoolAttrReleaseThreshold = 4, cudaMemPoolAttrReservedMemCurrent = 5 };
cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device);
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value);
cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value);
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t keep);
cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer);
cudaError_t cudaMallocAsync(void** pointer, size_t bytes, cudaStream_t stream);
cudaError_t cudaFreeAsync(void* pointer, cudaStream_t stream);
cudaError_t cudaMallocHost(void** pointer, size_t bytes);
cudaError_t cudaFreeHost(void* pointer);
// Managed memory is ordinary memory that the host and the device may touch at any time.
constexpr unsigned cudaMemAttachGlobal = 1;
enum cudaMemoryAdvise { cudaMemAdviseSetPreferredLocation = 3, cudaMemAdviseSetAccessedBy = 5 };
enum cudaMemLocationType { cudaMemLocationTypeDevice = 1, cudaMemLocationTypeHost = 2 };
struct cudaMemLocation {
  cudaMemLocationType type;
  int id;
};
enum cudaMemAccessFlags { cudaMemAccessFlagsProtReadWrite = 3 };
struct cudaMemAccessDesc {
  cudaMemLocation location;
  cudaMemAccessFlags flags;
};
cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool, const cudaMemAccessDesc* accesses,
                                 size_t count);
cudaError_t cudaMallocManaged(void** pointer, size_t bytes, unsigned flags);
cudaError_t cudaMemAdvise(const void* pointer, size_t bytes, cudaMemoryAdvise advice,
                          cudaMemLocation location);
cudaError_t cudaFree(void* pointer);
cudaError_t cudaMemGetInfo(size_t* available, size_t* total);
// Functions of the driver (cuda.h), by name.
constexpr unsigned long long cudaEnableDefault = 0;
enum cudaDriverEntryPointQueryResult {
  cudaDriverEntryPointSuccess = 0,
  cudaDriverEntryPointSymbolNotFound = 1
};
cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** function, unsigned version,
                                             unsigned long long flags,
                                             cudaDriverEntryPointQueryResult* result);

enum cudaMemcpyKind {
  cudaMemcpyHostToDevice = 1,
  cudaMemcpyDeviceToHost = 2,
  cudaMemcpyDeviceToDevice = 3,
  cudaMemcpyDefault = 4
};
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream);
cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch,
                              size_t width, size_t height, cudaMemcpyKind kind,
                              cudaStream_t stream);
cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t stream);

using cudaGraph_t = struct CUgraph_st*;
using cudaGraphExec_t = struct CUgraphExec_st*;
enum cudaStreamCaptureMode {
  cudaStreamCaptureModeGlobal,
  cudaStreamCaptureModeThreadLocal,
  cudaStreamCaptureModeRelaxed
};
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph);
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph,
                                 unsigned long long flags = 0);
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);
using cudaGraphNode_t = struct CUgraphNode_st*;
struct cudaGraphEdgeData;
enum cudaStreamCaptureStatus {
  cudaStreamCaptureStatusNone,
  cudaStreamCaptureStatusActive,
  cudaStreamCaptureStatusInvalidated
};
struct cudaKernelNodeParams {
  void* func;
  dim3 gridDim, blockDim;
  unsigned sharedMemBytes;
  void **kernelParams, **extra;
};
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, cudaStreamCaptureStatus* status,
                                     unsigned long long* id, cudaGraph_t* graph,
                                     const cudaGraphNode_t** dependencies,
                                     const cudaGraphEdgeData** edges, size_t* num_dependencies);
cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                             const cudaKernelNodeParams* params);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec);

enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize = 8 };
template <typename Kernel>
cudaError_t cudaFuncSetAttribute(Kernel*, cudaFuncAttribute, int) {
  return cudaSuccess;
}
inline cudaError_t cudaFuncGetName(const char** name, const void*) {
  *name = "(emulated)";
  return cudaSuccess;
}

namespace cuda_emulation {

template <typename... Params, size_t... kPlaces>
BindLaunch BinderOf(void (*kernel)(Params...), std::index_sequence<kPlaces...>) {
  return [kernel](const Shape& shape, [[maybe_unused]] void** params) {
    std::tuple<std::decay_t<Params>...> values(
        *static_cast<std::decay_t<Params>*>(params[kPlaces])...);
    return [kernel, shape, values = std::move(values)] {
      RunGrid(shape, [&] { std::apply(kernel, values); });
    };
  };
}

}  // namespace cuda_emulation

struct cudaLaunchConfig_t {
  dim3 gridDim, blockDim;
  size_t dynamicSmemBytes;
  cudaStream_t stream;
};
template <typename... Params, typename... Args>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* c, void (*kernel)(Params...),
                               Args&&... args) {
  const unsigned threads = c->blockDim.x * c->blockDim.y * c->blockDim.z;
  if (threads == 0 || threads > 1024 || c->gridDim.x == 0) return cudaErrorInvalidConfiguration;
  const cuda_emulation::Shape shape = {{c->gridDim.x, c->gridDim.y, c->gridDim.z},
                                       {c->blockDim.x, c->blockDim.y, c->blockDim.z},
                                       c->dynamicSmemBytes};
  std::tuple<std::decay_t<Params>...> values(std::forward<Args>(args)...);
  std::apply(
      [&](auto&... value) {
        void* params[] = {&value..., nullptr};
        cuda_emulation::EnqueueLaunch(
            c->stream, shape, params,
            cuda_emulation::BinderOf(kernel, std::index_sequence_for<Params...>()));
      },
      values);
  return cudaSuccess;
}
#endif  // TESSERA_TOOLS_EMULATION_CUDA_RUNTIME_H_
