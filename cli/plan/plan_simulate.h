#ifndef TESSERA_CLI_PLAN_PLAN_SIMULATE_H_
#define TESSERA_CLI_PLAN_PLAN_SIMULATE_H_
// tessera plan --simulate: steps under the plan, played rank by rank.
#include <string>
#include <vector>

#include "cli/plan/plan_inputs.h"
#include "planner/simulation/step_simulator.h"

namespace tessera::cli {

// A step, and the same under conditions that name says.
struct SimulatedPlan {
  std::string name;
  SimulatedSteps steps;
};

// Steps of ranks that keep their speed, of ranks whose speed varies, and of those with a slow rank
// among them. REQUIRES: flags.simulate > 0.
std::vector<SimulatedPlan> SimulatePlan(const StepModel& model, const ShardingPlan& plan,
                                        const PlanFlags& flags);

// A row for each.
std::string SimulationText(const std::vector<SimulatedPlan>& simulated, int ranks);

}  // namespace tessera::cli
#endif  // TESSERA_CLI_PLAN_PLAN_SIMULATE_H_
