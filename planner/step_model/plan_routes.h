#ifndef TESSERA_PLANNER_STEP_MODEL_PLAN_ROUTES_H_
#define TESSERA_PLANNER_STEP_MODEL_PLAN_ROUTES_H_
// How the rows of a plan return to the ranks of their bags: as ShardedTables, left to choose, sends
// them (sharding/exchange/node_routes.h).
#include "planner/step_model/step_load.h"
#include "sharding/plan/plan.h"

namespace tessera {

// How a shard's rows return.
struct ShardRoute {
  bool by_node = false;
  double blocks = 1;  // of the node, that this shard stands for: 1/n where n shards are one sum
};

// REQUIRES: the plan is one of these tables.
class PlanRoutes {
 public:
  PlanRoutes(const StepLoad& load, const ShardingPlan& plan);

  // Whether a table's rows return by node; sequences and data_parallel tables never do.
  bool ByNode(const StepTable& table) const;
  ShardRoute Of(const StepTable& table, const Shard& shard) const;

 private:
  const ShardingPlan& plan_;
  bool pooled_by_node_ = false;
};

}  // namespace tessera
#endif  // TESSERA_PLANNER_STEP_MODEL_PLAN_ROUTES_H_
