#include "runtime/device/device.h"

#include <cctype>

#include "runtime/base/check.h"

namespace tessera {

std::string ToString(const Device& device) {
  return device.type == DeviceType::kCpu ? "cpu" : Format("cuda:{}", device.index);
}

Device ParseDevice(const std::string& text) {
  if (text == "cpu") return Device::Cpu();
  if (text == "cuda") return Device::Cuda();
  if (text.size() == 6 && text.starts_with("cuda:") &&
      std::isdigit(static_cast<unsigned char>(text[5])))
    return Device::Cuda(text[5] - '0');
  TESSERA_FAIL("device '{}': expected cpu, cuda or cuda:<index>", text);
}

}  // namespace tessera
