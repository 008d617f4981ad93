#ifndef TESSERA_SHARDING_KERNEL_LOCATION_H_
#define TESSERA_SHARDING_KERNEL_LOCATION_H_
// Where a table's rows lie on ranks: what its configuration says, and the plan's kernel.
#include <string>

#include "embedding/config/placement.h"
#include "sharding/plan/plan.h"

namespace tessera {

// A table that is configured for a disk stays there, whatever the kernel; one in pinned memory does
// under kFusedUvm.
EmbeddingLocation LocationUnder(ComputeKernel kernel, EmbeddingLocation location);
// Where a table of that location lies under a plan; the same where the plan is null or lacks it.
EmbeddingLocation LocationIn(const ShardingPlan* plan, const std::string& table,
                             EmbeddingLocation location);

}  // namespace tessera
#endif  // TESSERA_SHARDING_KERNEL_LOCATION_H_
