#include "bench/lab/cuda/lab_case.h"

#include "bench/lab/cuda/lab_kinds.h"
#include "bench/lab/kernel.h"
#include "runtime/base/check.h"

namespace tessera::bench {

std::vector<Axis> AxesOnGpu(std::vector<Axis> axes, const Sizes& sizes) {
  std::erase_if(axes, [](const Axis& axis) { return axis.name == "isa" || axis.name == "pin"; });
  for (Axis& axis : axes)
    for (const auto& [name, value] : sizes)
      if (axis.name == name) axis.values = {value};
  return axes;
}

const std::vector<LabKind>& LabKinds() {
  static const std::vector<LabKind> kinds = {LookupKind(), QuantizedLookupKind(), UpdateKind(),
                                             GroupingKind(), ProductKind()};
  static_assert(std::variant_size_v<CudaKernel> == 6);
  return kinds;
}

const LabKind& KindOf(const CudaVariant& variant) {
  // Defaults are all that a parameter's function sees: which kernel it is depends on none of them.
  PointValues values;
  for (const Axis& axis : variant.parameters) values.emplace_back(axis.name, axis.values[0]);
  const size_t index = variant.At(Point("", values)).index();
  TESSERA_CHECK(index > 0, "variant {} has no function", variant.name);
  return LabKinds()[index - 1];
}

ContextOptions LabContext() {
  return {.device = Device::Cuda(), .dense_products = DenseProducts::kPortable};
}

LabCase MakeLabCase(Context& ctx, const CudaVariant& variant, const Point& point) {
  Takes takes = variant.takes;
  takes.any_codec = true;  // its parameter says which
  const std::string not_taken = NotTaken(takes, point);
  if (!not_taken.empty())
    throw Error(Format("variant {} does not take {}", variant.name, not_taken));
  LabCase made = KindOf(variant).make(ctx, variant, point);
  if (variant.other_sums) NameWithTolerance(variant.name, made.tolerance);  // throws without one
  return made;
}

}  // namespace tessera::bench
