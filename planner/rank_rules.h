#ifndef TESSERA_PLANNER_RANK_RULES_H_
#define TESSERA_PLANNER_RANK_RULES_H_
// Rules of placement that speak of ranks, checked against the ranks that there are. All throw
// PlannerError of kind kPlacementRules.
#include <vector>

#include "planner/model/placement_rules.h"
#include "planner/model/reservation.h"
#include "planner/model/topology.h"

namespace tessera::internal {

// The memory of each rank that is left to tables, rank_caps applied.
std::vector<Storage> Capped(const Topology& topology, const ReservedMemory& reserved,
                            const PlacementRules& rules);
// Refuses caps of HBM: CPUs have none.
void CheckCapsOfCpus(const std::vector<RankCap>& caps);
// Refuses more tables to lie apart than there are ranks: a rank can have one of them.
void CheckApart(const PlacementRules& rules, int ranks);

}  // namespace tessera::internal
#endif  // TESSERA_PLANNER_RANK_RULES_H_
