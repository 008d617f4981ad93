#ifndef TESSERA_CLI_PLAN_PLAN_DIFF_REPORT_H_
#define TESSERA_CLI_PLAN_PLAN_DIFF_REPORT_H_
// The difference of two plans in words and as JSON.
#include <string>
#include <vector>

#include "planner/plan_diff.h"
#include "planner/plan_load.h"

namespace tessera::cli {

// One of two plans that are compared.
struct ComparedPlan {
  std::string path;
  ShardingPlan plan = {};
  PlanLoad load = {};                      // of the tables that can be priced
  std::vector<std::string> unpriced = {};  // tables that --tables lacks
};

struct PlanComparison {
  ComparedPlan before, after;
  PlanDiff diff = {};
  std::string cost_model = {}, machine = {};  // that both are priced by
};

// A summary, then a row for each table that changes: the first `top`, or all.
std::string PlanDiffText(const PlanComparison& comparison, int64_t top);

// {"moved_bytes", "tables": {"same", "moved", …}, "cost_model", "before": {"plan", "ranks", …,
//  "step_ms", …}, "after": {…}, "changes": [{"table", "change", "moved_bytes", "before": {…}, …}]}
std::string PlanDiffJson(const PlanComparison& comparison);

}  // namespace tessera::cli
#endif  // TESSERA_CLI_PLAN_PLAN_DIFF_REPORT_H_
