#ifndef TESSERA_PLANNER_PLAN_LOAD_H_
#define TESSERA_PLANNER_PLAN_LOAD_H_
// Time and memory of the ranks under a sharding plan by a planner's cost model, whoever made the
// plan.
#include <string>

#include "planner/planner.h"
#include "planner/stats.h"
#include "sharding/plan/plan.h"

namespace tessera {

struct PlanLoad {
  // Calibrated: the whole step, as the step model predicts it. Of the other cost models, which know
  // tables alone: the plan's rating.
  double step_ms = 0;
  bool whole_step = false;
  int busiest_rank = 0;
  // Milliseconds of the busiest rank: in tables and dense layers, in exchanges and the work around
  // them, and in filling caches.
  double compute_ms = 0, exchange_ms = 0, prefetch_ms = 0;
  PlanStats stats;

  // "compute", "exchange" or "prefetch", whichever takes the most of it; and its share.
  std::string bound_by() const;
  double bound_share() const;
};

// REQUIRES: a plan of the planner's tables and ranks. Throws PlannerError for a kernel that the
// topology's device lacks.
PlanLoad LoadOfPlan(const EmbeddingShardingPlanner& planner, const ShardingPlan& plan);
// Does the same for a plan that this planner made. Throws PlannerError if it left out a table, too
// (CheckAllTablesPlaced).
PlanLoad LoadOfPlan(const EmbeddingShardingPlanner& planner, const PlanResult& plan);

// The rank that uses the most of its device's memory, or of the host's.
int FullestHbmRank(const PlanStats& stats);
int FullestDdrRank(const PlanStats& stats);

}  // namespace tessera
#endif  // TESSERA_PLANNER_PLAN_LOAD_H_
