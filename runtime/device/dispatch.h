#ifndef TESSERA_RUNTIME_DEVICE_DISPATCH_H_
#define TESSERA_RUNTIME_DEVICE_DISPATCH_H_
// Turns a device known at run time into a tag that overloads are chosen by. Overloads for OnCuda
// are declared in every build and used only where CUDA is built, so a build for the CPU links
// without them, and ops need no #if.
#include <type_traits>

#include "runtime/base/check.h"
#include "runtime/device/device.h"
#if __has_include("runtime/device/with_cuda.h")  // made by the build; without it, for the CPU
#include "runtime/device/with_cuda.h"
#endif

namespace tessera {

#if TESSERA_WITH_CUDA
inline constexpr bool kWithCuda = true;
#else
inline constexpr bool kWithCuda = false;
#endif

// Calls fn(OnCpu{}) or fn(OnCuda{}). Throws Error for a CUDA device in a build for the CPU alone.
template <typename Fn>
decltype(auto) DispatchDevice(Device device, Fn&& fn) {
#if TESSERA_WITH_CUDA
  if (device.type == DeviceType::kCuda) return fn(OnCuda{});
#endif
  TESSERA_CHECK(device.type == DeviceType::kCpu,
                "device {}: this build of Tessera runs on the CPU only; build it with "
                "--config=cuda to use a GPU",
                device);
  return fn(OnCpu{});
}

// Calls fn(OnCuda{}) for a CUDA device; nothing is to be done on a CPU.
template <typename Fn>
void OnlyOnCuda(Device device, Fn&& fn) {
  DispatchDevice(device, [&](auto on) {
    if constexpr (std::is_same_v<decltype(on), OnCuda>) fn(on);
  });
}

}  // namespace tessera
#endif  // TESSERA_RUNTIME_DEVICE_DISPATCH_H_
