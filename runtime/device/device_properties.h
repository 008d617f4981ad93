#ifndef TESSERA_RUNTIME_DEVICE_DEVICE_PROPERTIES_H_
#define TESSERA_RUNTIME_DEVICE_DEVICE_PROPERTIES_H_
// Properties of a GPU, asked for once for each device, and its free memory.
#include <cstdint>
#include <string>

#include "runtime/device/device.h"

namespace tessera {

struct DeviceProperties {
  std::string name;
  std::string uuid;            // 32 hexadecimal digits, the same in every process
  int compute_capability = 0;  // 90 for 9.0
  int multiprocessors = 0;
  int64_t memory_bytes = 0, l2_bytes = 0;
  int64_t shared_bytes_per_block = 0;  // the most that a launch may ask for
};

// How many CUDA devices can be used: 0 in a build for the CPU, without a driver or without a GPU.
int CudaDeviceCount();
// REQUIRES: a CUDA device that exists.
const DeviceProperties& PropertiesOf(Device device);
// Bytes that no process uses now; what Tessera's pool keeps counts as used. REQUIRES: as above.
int64_t FreeMemoryOf(Device device);

namespace internal {
// Throws Error if the device cannot be used, in one sentence that says why.
void CheckUsable(OnCuda, Device device);
const DeviceProperties& PropertiesOf(OnCuda, Device device);
int64_t FreeMemoryOf(OnCuda, Device device);
int DeviceCount(OnCuda);
}  // namespace internal

}  // namespace tessera
#endif  // TESSERA_RUNTIME_DEVICE_DEVICE_PROPERTIES_H_
