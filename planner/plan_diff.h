#ifndef TESSERA_PLANNER_PLAN_DIFF_H_
#define TESSERA_PLANNER_PLAN_DIFF_H_
// How one sharding plan differs from another: which tables change, and how many bytes of weights
// have to travel to ranks that do not hold them. Optimizer states go with their rows, and are not
// counted.
//
// Rank r is the same rank in both plans, also where their numbers of ranks differ.
#include <optional>
#include <string>
#include <vector>

#include "planner/model/model.h"
#include "sharding/plan/plan.h"

namespace tessera {

enum class TableChangeKind {
  kMoved,    // bytes travel
  kInPlace,  // another sharding type or kernel, or fewer replicas; no byte travels
  kNew,      // the plan before lacks the table
  kGone      // the plan after lacks it
};
std::string ToString(TableChangeKind kind);  // "moved", "in_place", "new", "gone"

struct TableChange {
  std::string table;
  std::optional<TableSharding> before = {}, after = {};  // nothing where the plan lacks it
  int64_t moved_bytes = 0;                               // 0 of new tables and of gone ones

  TableChangeKind kind() const;
};

struct PlanDiff {
  std::vector<TableChange> changes;  // the most bytes first, equal ones by name
  int64_t same = 0;                  // tables that both plans have, and have alike
  int64_t moved_bytes = 0;           // of all changes

  int64_t CountOf(TableChangeKind kind) const;
};

// Throws Error for a table that changes and that the model lacks, and for two tables of the model
// that share a name.
PlanDiff DiffPlans(const PlannerModel& model, const ShardingPlan& before,
                   const ShardingPlan& after);

// Throws Error for ranks that do not fill nodes, and as CheckTableSharding does. A table that the
// model lacks has the shape that its shards span.
void CheckTables(const PlannerModel& model, const ShardingPlan& plan);

// The tables that a model and a plan have in common.
struct PlannedTables {
  PlannerModel model;
  ShardingPlan plan;
};
PlannedTables TablesInBoth(const PlannerModel& model, const ShardingPlan& plan);

}  // namespace tessera
#endif  // TESSERA_PLANNER_PLAN_DIFF_H_
