#ifndef TESSERA_CLI_PLAN_PLANNER_OPTIONS_H_
#define TESSERA_CLI_PLAN_PLANNER_OPTIONS_H_
// Options of the planner by the flags of tessera plan.
#include "cli/plan/plan_inputs.h"
#include "planner/planner.h"

namespace tessera::cli {

// Those of --constraints and --existing.
PlacementRules ReadRules(const PlanFlags& flags, const PlannerModel& model,
                         const Topology& topology);

// The cost model, the rules and the reservation.
PlannerOptions PlannerOptionsOf(const PlanFlags& flags, const PlannerModel& model,
                                const TopologyFile& machine, const CalibratedOptions& known,
                                PlacementRules rules);

}  // namespace tessera::cli
#endif  // TESSERA_CLI_PLAN_PLANNER_OPTIONS_H_
