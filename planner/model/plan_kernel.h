#ifndef TESSERA_PLANNER_MODEL_PLAN_KERNEL_H_
#define TESSERA_PLANNER_MODEL_PLAN_KERNEL_H_
// The compute kernels that TorchRec's planner knows. Those that this library runs are
// sharding/plan/plan.h's ComputeKernel; the others can be priced, not trained.
#include <optional>
#include <string>

#include "sharding/plan/plan.h"

namespace tessera {

enum class PlanKernel {
  kDense,
  kFused,
  kFusedUvm,
  kFusedUvmCaching,
  kKeyValue,
  kSsdVirtualTable,
  kDramVirtualTable,
  kDramSsdVirtualTable,
  kFusedTriton,
  kQuant,
  kQuantUvm,
  kQuantUvmCaching
};
std::string ToString(PlanKernel kernel);  // "dense", "fused", …
// The inverse. Throws Error, which lists the names, for anything else.
PlanKernel ParsePlanKernel(const std::string& name);

// The kernel that trains it; nothing for one that this library does not run.
std::optional<ComputeKernel> TrainedKernel(PlanKernel kernel);
// The inverse.
PlanKernel PlanKernelOf(ComputeKernel kernel);

// key_value and the three virtual tables.
bool IsKeyValue(PlanKernel kernel);
// Rows lie behind a cache: fused_uvm_caching, quant_uvm_caching, and the key-value kernels.
bool IsCached(PlanKernel kernel);

}  // namespace tessera
#endif  // TESSERA_PLANNER_MODEL_PLAN_KERNEL_H_
