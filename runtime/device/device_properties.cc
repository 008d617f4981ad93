#include "runtime/device/device_properties.h"

#include "runtime/base/check.h"
#include "runtime/device/dispatch.h"

namespace tessera {

int CudaDeviceCount() {
  int count = 0;
  if constexpr (kWithCuda)
    OnlyOnCuda(Device::Cuda(), [&](auto on) { count = internal::DeviceCount(on); });
  return count;
}

const DeviceProperties& PropertiesOf(Device device) {
  const DeviceProperties* properties = nullptr;
  OnlyOnCuda(device, [&](auto on) { properties = &internal::PropertiesOf(on, device); });
  TESSERA_CHECK(properties != nullptr, "properties of device {}: only a GPU has them", device);
  return *properties;
}

int64_t FreeMemoryOf(Device device) {
  int64_t bytes = 0;
  OnlyOnCuda(device, [&](auto on) { bytes = internal::FreeMemoryOf(on, device); });
  return bytes;
}

}  // namespace tessera
