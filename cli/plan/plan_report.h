#ifndef TESSERA_CLI_PLAN_PLAN_REPORT_H_
#define TESSERA_CLI_PLAN_PLAN_REPORT_H_
// A plan in words and as JSON.
#include <string>
#include <vector>

#include "cli/plan/plan_simulate.h"
#include "planner/calibration/validate_plans.h"
#include "planner/explain.h"
#include "planner/plan_load.h"
#include "planner/planner.h"

namespace tessera::cli {

// "0.29 ms for tables on the busiest rank by the calibrated cost model; no plan is below 0.27 ms
// (7.4 % off)", with what it was found by. Where ranks share cores, it may be the busiest node that
// counts.
std::string PlanLine(const PlanResult& plan, const std::string& cost_model);

// {"cost_model", "max_rank_perf_ms", "step_ms", "lower_bound", "gap", …, "ranks": [{"ms", "hbm",
//  "ddr", "ssd"}], "dense": {"hbm", "ddr"}, "batches": {…}, "tables": […], "validation": {"plans":
//  [{"plan", "predicted_ms", "simulated_ms", "measured_ms"}], "spearman", "median_error"},
//  "simulation": [{"name", "mean_ms", "p50_ms", "p99_ms", "at_work", "waiting_for_ranks",
//  "exchanging"}]}; memory in bytes.
// "step_ms" is of a measured machine alone, "validation" of plans that were run, "simulation" of
// steps that were played. "spearman" is null where all predictions are alike.
std::string PlanReportJson(const PlanResult& plan, const PlanExplanation& explanation,
                           const std::string& cost_model, const PlanLoad& load,
                           const std::vector<ValidatedPlan>& validated,
                           const std::vector<SimulatedPlan>& simulated);

}  // namespace tessera::cli
#endif  // TESSERA_CLI_PLAN_PLAN_REPORT_H_
