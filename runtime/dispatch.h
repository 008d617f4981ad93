#ifndef TESSERA_RUNTIME_DISPATCH_H_
#define TESSERA_RUNTIME_DISPATCH_H_
// From a device known at run time to a tag that overloads are chosen by.
#include "runtime/check.h"
#include "runtime/device.h"

namespace tessera {

// Calls fn(OnCpu{}). Throws Error for a CUDA device: no kernel of this library runs there yet.
template <typename Fn>
decltype(auto) DispatchDevice(Device device, Fn&& fn) {
  TESSERA_CHECK(device.type == DeviceType::kCpu,
                "device {}: this build of Tessera runs on the CPU only", device);
  return fn(OnCpu{});
}

}  // namespace tessera
#endif  // TESSERA_RUNTIME_DISPATCH_H_
