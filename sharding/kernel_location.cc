#include "sharding/kernel_location.h"

#include "runtime/base/check.h"

namespace tessera {

EmbeddingLocation LocationUnder(ComputeKernel kernel, EmbeddingLocation location) {
  if (location == EmbeddingLocation::kDisk) return location;
  switch (kernel) {
    case ComputeKernel::kFusedUvm:
      return location == EmbeddingLocation::kHost ? location : EmbeddingLocation::kManaged;
    case ComputeKernel::kFusedUvmCaching:
      return EmbeddingLocation::kManagedCaching;
    case ComputeKernel::kKeyValue:
      return EmbeddingLocation::kDisk;
    case ComputeKernel::kDense:
    case ComputeKernel::kFused:
      return location;
  }
  TESSERA_FAIL("unknown ComputeKernel {}", static_cast<int>(kernel));
}

EmbeddingLocation LocationIn(const ShardingPlan* plan, const std::string& table,
                             EmbeddingLocation location) {
  if (plan == nullptr) return location;
  const auto found = plan->tables.find(table);
  return found == plan->tables.end() ? location : LocationUnder(found->second.kernel, location);
}

}  // namespace tessera
