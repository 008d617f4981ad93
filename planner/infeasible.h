#ifndef TESSERA_PLANNER_INFEASIBLE_H_
#define TESSERA_PLANNER_INFEASIBLE_H_
// Explains why there is no plan: memory that is missing in all, tables that fit on no rank, and
// which constraint to relax.
#include <optional>
#include <vector>

#include "planner/planner.h"

namespace tessera::internal {

// Throws PlannerError. `least_storage` is the least of the proposals that were tried, if any were.
[[noreturn]] void ThrowInfeasible(const EmbeddingShardingPlanner& planner,
                                  const std::vector<ShardingOption>& options,
                                  const std::vector<Storage>& capacity,
                                  const std::optional<Storage>& least_storage);

}  // namespace tessera::internal
#endif  // TESSERA_PLANNER_INFEASIBLE_H_
