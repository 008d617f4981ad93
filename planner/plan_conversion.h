#ifndef TESSERA_PLANNER_PLAN_CONVERSION_H_
#define TESSERA_PLANNER_PLAN_CONVERSION_H_
// Turns the planner's result into the plan that sharding/ runs.
#include <vector>

#include "planner/model/model.h"
#include "planner/model/sharding_option.h"
#include "planner/model/topology.h"
#include "sharding/plan/plan.h"

namespace tessera {

// Throws PlannerError if a table of the model is not among the placed ones: the planner leaves out
// tables whose constraints ask for devices that the topology has not, as TorchRec's does.
void CheckAllTablesPlaced(const Topology& topology, const PlannerModel& model,
                          const std::vector<PlacedOption>& tables);

// A checked plan of all tables; its nodes are the topology's groups. Throws Error for a table that
// was left out, for two tables of one name (a ShardingPlan knows no modules), and for a kernel that
// this build does not train.
ShardingPlan ToShardingPlan(const Topology& topology, const PlannerModel& model,
                            const std::vector<PlacedOption>& tables);

}  // namespace tessera
#endif  // TESSERA_PLANNER_PLAN_CONVERSION_H_
