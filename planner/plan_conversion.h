#ifndef TESSERA_PLANNER_PLAN_CONVERSION_H_
#define TESSERA_PLANNER_PLAN_CONVERSION_H_
// Turns the planner's result into the plan that sharding/ runs.
#include <vector>

#include "planner/model/model.h"
#include "planner/model/sharding_option.h"
#include "planner/model/topology.h"
#include "sharding/plan/plan.h"

namespace tessera {

// A checked plan; its nodes are the topology's groups. Throws Error for two tables of one name (a
// ShardingPlan knows no modules), and for a kernel that this build does not train.
ShardingPlan ToShardingPlan(const Topology& topology, const PlannerModel& model,
                            const std::vector<PlacedOption>& tables);

}  // namespace tessera
#endif  // TESSERA_PLANNER_PLAN_CONVERSION_H_
