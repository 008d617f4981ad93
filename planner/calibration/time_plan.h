#ifndef TESSERA_PLANNER_CALIBRATION_TIME_PLAN_H_
#define TESSERA_PLANNER_CALIBRATION_TIME_PLAN_H_
// Training steps of made-up tables under a plan, timed: what predictions are held against. Rows
// start at 0; ids are drawn by each feature's popularity; dense layers are square stand-ins of as
// many flops. Caches are full before the first timed step.
#include <span>
#include <vector>

#include "comm/communicator.h"
#include "planner/step_model/step_load.h"
#include "runtime/context.h"
#include "sharding/plan/plan.h"

namespace tessera {

// Phases of a step; the last has the update in it.
inline constexpr const char* kPhaseNames[] = {"input_dist", "lookup", "output_dist", "dense",
                                              "backward"};

struct PlanTime {
  double seconds = 0;          // from a step's beginning to the next one's
  std::vector<double> phases;  // seconds of kPhaseNames, the mean over ranks
  double cache_misses = 0;     // rows a step that caches lacked: of all ranks, the mean over steps
};

// Medians of about `budget` seconds of steps. Every rank calls and gets the same. Throws Error for
// weighted tables, and for a plan that is not one of these tables and ranks.
PlanTime TimePlan(Context& ctx, Communicator& comm, const StepLoad& load, const ShardingPlan& plan,
                  double budget);

// How predictions and measurements of the same things agree.
struct Agreement {
  double spearman = 0;            // correlation of ranks; ties have their mean
  double median_error = 0;        // median of |predicted − measured| / measured
  double median_ratio_error = 0;  // the same after all predictions were scaled by one number
};
// REQUIRES: as many of each, above 0.
Agreement ComputeAgreement(std::span<const double> predicted, std::span<const double> measured);

}  // namespace tessera
#endif  // TESSERA_PLANNER_CALIBRATION_TIME_PLAN_H_
