#ifndef TESSERA_PLANNER_CALIBRATION_VALIDATE_PLANS_H_
#define TESSERA_PLANNER_CALIBRATION_VALIDATE_PLANS_H_
// Predicted step times held against steps that are run.
#include <functional>
#include <string>
#include <vector>

#include "planner/calibration/time_plan.h"
#include "planner/step_model/step_model.h"
#include "runtime/context.h"

namespace tessera {

struct ValidatedPlan {
  std::string name;
  StepPrediction predicted;
  double simulated = 0;  // seconds of a step whose ranks keep their speed (step_simulator.h)
  PlanTime measured;     // medians over the passes
};

struct NamedPlan {
  std::string name;
  ShardingPlan plan;
};

struct ValidateOptions {
  double seconds = 0.3;  // of steps, of each plan and pass
  int passes = 1;        // over all plans, so that the noise of a machine hits all alike
  // Called on rank 0 with the plan that is run next.
  std::function<void(const std::string& name, double done)> progress = {};
};

// Every rank calls and gets the same. REQUIRES: plans of the model's tables and ranks.
std::vector<ValidatedPlan> ValidatePlans(Context& ctx, Communicator& comm, const StepModel& model,
                                         const std::vector<NamedPlan>& plans,
                                         const ValidateOptions& options = {});

// Returns the agreement over the steps of all plans. REQUIRES: at least one.
Agreement ComputeAgreement(const std::vector<ValidatedPlan>& plans);

}  // namespace tessera
#endif  // TESSERA_PLANNER_CALIBRATION_VALIDATE_PLANS_H_
