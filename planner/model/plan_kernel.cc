#include "planner/model/plan_kernel.h"

#include "runtime/base/check.h"
#include "runtime/base/names.h"

namespace tessera {
namespace {

constexpr const char* kKernelNames[] = {"dense",
                                        "fused",
                                        "fused_uvm",
                                        "fused_uvm_caching",
                                        "key_value",
                                        "ssd_virtual_table",
                                        "dram_virtual_table",
                                        "dram_ssd_virtual_table",
                                        "fused_triton",
                                        "quant",
                                        "quant_uvm",
                                        "quant_uvm_caching"};

}  // namespace

std::string ToString(PlanKernel kernel) { return kKernelNames[static_cast<int>(kernel)]; }
PlanKernel ParsePlanKernel(const std::string& name) {
  return internal::ParseName<PlanKernel>(name, "compute kernel", kKernelNames);
}

std::optional<ComputeKernel> TrainedKernel(PlanKernel kernel) {
  switch (kernel) {
    case PlanKernel::kDense:
      return ComputeKernel::kDense;
    case PlanKernel::kFused:
      return ComputeKernel::kFused;
    case PlanKernel::kFusedUvm:
      return ComputeKernel::kFusedUvm;
    case PlanKernel::kFusedUvmCaching:
      return ComputeKernel::kFusedUvmCaching;
    case PlanKernel::kKeyValue:
      return ComputeKernel::kKeyValue;
    default:
      return {};
  }
}

PlanKernel PlanKernelOf(ComputeKernel kernel) {
  switch (kernel) {
    case ComputeKernel::kDense:
      return PlanKernel::kDense;
    case ComputeKernel::kFused:
      return PlanKernel::kFused;
    case ComputeKernel::kFusedUvm:
      return PlanKernel::kFusedUvm;
    case ComputeKernel::kFusedUvmCaching:
      return PlanKernel::kFusedUvmCaching;
    case ComputeKernel::kKeyValue:
      return PlanKernel::kKeyValue;
  }
  TESSERA_FAIL("unknown ComputeKernel {}", static_cast<int>(kernel));
}

bool IsKeyValue(PlanKernel kernel) {
  return kernel >= PlanKernel::kKeyValue && kernel <= PlanKernel::kDramSsdVirtualTable;
}

bool IsCached(PlanKernel kernel) {
  return kernel == PlanKernel::kFusedUvmCaching || kernel == PlanKernel::kQuantUvmCaching ||
         IsKeyValue(kernel);
}

}  // namespace tessera
