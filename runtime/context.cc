#include "runtime/context.h"

#include "runtime/device/device_properties.h"
#include "runtime/device/dispatch.h"

namespace tessera {
namespace {

Device Usable(Device device) {
  if (!kWithCuda && device.type == DeviceType::kCuda)
    throw Error(
        Format("device {}: this build of Tessera runs on the CPU only; to use a GPU, build "
               "it with --config=cuda, or install it by tools/install PREFIX --config=cuda",
               device));
  OnlyOnCuda(device, [&](auto on) { internal::CheckUsable(on, device); });
  return device;
}

DenseProducts Resolved(DenseProducts products, Device device) {
  if (products != DenseProducts::kDefault) return products;
  return device == Device::Cpu() ? DenseProducts::kPortable : DenseProducts::kLibrary;
}

}  // namespace

std::string ToString(DenseProducts products) {
  return products == DenseProducts::kPortable  ? "portable"
         : products == DenseProducts::kLibrary ? "library"
                                               : "default";
}

Context::Context(ContextOptions options)
    : device_(Usable(options.device)),
      stream_(Stream::Make(device_)),
      allocator_(&AllocatorOf(device_)),
      pool_(options.pool ? options.pool : std::make_shared<ThreadPool>(options.threads)),
      random_(options.seed),
      matmul_precision_(options.matmul_precision),
      dense_products_(Resolved(options.dense_products, options.device)) {}

}  // namespace tessera
