#include "tests/testing/devices.h"

#include "runtime/device/dispatch.h"

namespace tessera::testing {

std::vector<Device> AllDevices() {
  std::vector<Device> devices = {Device::Cpu()};
  if (kWithCuda) devices.push_back(Device::Cuda());
  return devices;
}

std::string DeviceName(const ::testing::TestParamInfo<Device>& info) {
  return info.param.type == DeviceType::kCpu ? "Cpu" : "Cuda";
}

}  // namespace tessera::testing
