#ifndef TESSERA_RUNTIME_DEVICE_DEVICE_H_
#define TESSERA_RUNTIME_DEVICE_DEVICE_H_
// A device, where memory lies and code runs: as a value (Device) and as a tag to overload on
// (OnCpu, OnCuda).
#include <string>

namespace tessera {

enum class DeviceType { kCpu, kCuda };

struct Device {
  DeviceType type = DeviceType::kCpu;
  int index = 0;

  static constexpr Device Cpu() { return {}; }
  static constexpr Device Cuda(int index = 0) { return {DeviceType::kCuda, index}; }
  friend bool operator==(const Device&, const Device&) = default;
};

template <DeviceType type>
struct On {};
using OnCpu = On<DeviceType::kCpu>;
using OnCuda = On<DeviceType::kCuda>;

// "cpu", "cuda:0".
std::string ToString(const Device& device);
// The inverse; "cuda" is "cuda:0". Throws Error for anything else.
Device ParseDevice(const std::string& text);

}  // namespace tessera
#endif  // TESSERA_RUNTIME_DEVICE_DEVICE_H_
