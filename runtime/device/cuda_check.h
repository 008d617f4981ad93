#ifndef TESSERA_RUNTIME_DEVICE_CUDA_CHECK_H_
#define TESSERA_RUNTIME_DEVICE_CUDA_CHECK_H_
// Calls of CUDA's runtime, checked. Private: for .cu files and *_cuda.cc.
#include <cuda_runtime.h>

#include <vector>

#include "runtime/base/check.h"
#include "runtime/device/device.h"
#include "runtime/device/stream.h"

// TESSERA_CUDA_CHECK(cudaFree(p)): throws Error with the call and CUDA's own words if it fails.
#define TESSERA_CUDA_CHECK(...)                                                           \
  do {                                                                                    \
    const cudaError_t tessera_error_ = (__VA_ARGS__);                                     \
    if (tessera_error_ != cudaSuccess) {                                                  \
      (void)cudaGetLastError();                                                           \
      TESSERA_FAIL("CUDA: {}: {} ({})", #__VA_ARGS__, cudaGetErrorString(tessera_error_), \
                   cudaGetErrorName(tessera_error_));                                     \
    }                                                                                     \
  } while (false)

// Checks a call where nothing may be thrown: prints a failure on stderr.
#define TESSERA_CUDA_LOG(...) ::tessera::internal::LogCudaError((__VA_ARGS__), #__VA_ARGS__)

namespace tessera::internal {

void LogCudaError(cudaError_t error, const char* call) noexcept;
// Makes `device` the one that following CUDA calls of this host thread use.
void UseDevice(Device device);
// The devices that may use this one's memory, by their numbers: itself, and its peers unless
// TESSERA_PEER_ACCESS=0.
std::vector<int> UsersOf(Device device);
inline cudaStream_t CudaStream(const Stream& stream) {
  return static_cast<cudaStream_t>(stream.handle());
}

}  // namespace tessera::internal
#endif  // TESSERA_RUNTIME_DEVICE_CUDA_CHECK_H_
