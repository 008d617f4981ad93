#ifndef TESSERA_CLI_PLAN_PLAN_VALIDATE_H_
#define TESSERA_CLI_PLAN_PLAN_VALIDATE_H_
// tessera plan --validate: steps under several plans, predicted and run.
#include <string>
#include <vector>

#include "planner/calibration/validate_plans.h"
#include "planner/step_model/step_model.h"

namespace tessera::cli {

// Runs `plan` and the plans of tessera train's words, the `count` of them that are predicted to be
// the fastest, on ranks that are threads of this process.
std::vector<ValidatedPlan> ValidatePlan(const StepModel& model, const ShardingPlan& plan,
                                        int count);

// Whether plans have different predictions: ties have no correlation.
bool PredictionsDiffer(const std::vector<ValidatedPlan>& plans);

// A row a plan, and how predictions agree with steps.
std::string ValidationText(const std::vector<ValidatedPlan>& plans);

}  // namespace tessera::cli
#endif  // TESSERA_CLI_PLAN_PLAN_VALIDATE_H_
