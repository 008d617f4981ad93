// Checks of launches.
#include <cstdlib>
#include <string>
#include <string_view>

#include "runtime/base/check.h"
#include "runtime/launch.cuh"

namespace tessera::internal {
namespace {

std::string NameOf(const void* kernel) {
  const char* name = nullptr;
  if (cudaFuncGetName(&name, kernel) != cudaSuccess || name == nullptr) return "(unknown)";
  return name;
}

#if TESSERA_SYNC_LAUNCHES
constexpr bool kSyncLaunches = true;
#else
constexpr bool kSyncLaunches = false;
#endif

// Whether each launch is waited for; TESSERA_SYNC_LAUNCHES=1 asks for it in any build.
bool SyncLaunches() {
  static const bool asked = [] {
    const char* value = std::getenv("TESSERA_SYNC_LAUNCHES");
    return kSyncLaunches || (value != nullptr && std::string_view(value) == "1");
  }();
  return asked;
}

}  // namespace

void CheckLaunch(cudaError_t error, const void* kernel, dim3 grid, dim3 block, size_t shared_bytes,
                 const Stream& stream) {
  // A recorded launch runs later, and waiting for it would end the recording.
  if (error == cudaSuccess && SyncLaunches() && stream.capture() == nullptr)
    error = cudaStreamSynchronize(CudaStream(stream));
  if (error == cudaSuccess) return;
  (void)cudaGetLastError();
  TESSERA_FAIL(
      "kernel {}, ({}, {}, {}) blocks of ({}, {}, {}) threads, {} bytes of shared memory: {}",
      NameOf(kernel), grid.x, grid.y, grid.z, block.x, block.y, block.z, shared_bytes,
      cudaGetErrorString(error));
}

void AllowShared(const void* kernel, size_t bytes, Device device) {
  const int64_t most = PropertiesOf(device).shared_bytes_per_block;
  TESSERA_CHECK(static_cast<int64_t>(bytes) <= most,
                "kernel {}: {} bytes of shared memory a block; {} has {}", NameOf(kernel), bytes,
                device, most);
  TESSERA_CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                          static_cast<int>(bytes)));
}

}  // namespace tessera::internal
