#include "runtime/context.h"

#include "runtime/base/check.h"
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
  const bool on_cpu = device == Device::Cpu();
  if (products == DenseProducts::kDefault)
    return on_cpu ? DenseProducts::kPortable : DenseProducts::kLibrary;
  TESSERA_CHECK(
      !on_cpu || products == DenseProducts::kPortable || products == DenseProducts::kLibrary,
      "dense products {} on device {}: they need a GPU; a CPU makes portable and library "
      "ones",
      ToString(products), device);
  return products;
}

}  // namespace

std::string ToString(DenseProducts products) {
  switch (products) {
    case DenseProducts::kDefault:
      return "default";
    case DenseProducts::kPortable:
      return "portable";
    case DenseProducts::kLibrary:
      return "library";
    case DenseProducts::kTf32:
      return "tf32";
    case DenseProducts::kBf16:
      return "bf16";
  }
  return "?";
}

Context::Context(ContextOptions options)
    : device_(Usable(options.device)),
      stream_(Stream::Make(device_)),
      allocator_(&AllocatorOf(device_)),
      pool_(options.pool ? options.pool : std::make_shared<ThreadPool>(options.threads)),
      random_(options.seed),
      dense_products_(Resolved(options.dense_products, options.device)) {}

}  // namespace tessera
