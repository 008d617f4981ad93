#include "planner/calibration/validate_plans.h"

#include <utility>

#include "planner/calibration/rounds.h"
#include "planner/simulation/step_simulator.h"

namespace tessera {
namespace {

// The median of each number over the passes.
PlanTime MedianTime(const std::vector<PlanTime>& times) {
  const auto median = [&](const auto& number) {
    std::vector<double> all;
    for (const PlanTime& time : times) all.push_back(number(time));
    return MedianOf(std::move(all));
  };
  PlanTime result;
  result.seconds = median([](const PlanTime& t) { return t.seconds; });
  for (size_t p = 0; p < times[0].phases.size(); ++p)
    result.phases.push_back(median([p](const PlanTime& t) { return t.phases[p]; }));
  result.cache_misses = median([](const PlanTime& t) { return t.cache_misses; });
  return result;
}

}  // namespace

std::vector<ValidatedPlan> ValidatePlans(Context& ctx, Communicator& comm, const StepModel& model,
                                         const std::vector<NamedPlan>& plans,
                                         const ValidateOptions& options) {
  TESSERA_CHECK_GE(options.passes, 1, "passes over the plans");
  std::vector<std::vector<PlanTime>> times(plans.size());
  const auto all = static_cast<double>(plans.size()) * options.passes;
  double done = 0;
  for (int pass = 0; pass < options.passes; ++pass)
    for (size_t p = 0; p < plans.size(); ++p) {
      if (options.progress && IsLeader(comm)) options.progress(plans[p].name, done++ / all);
      times[p].push_back(TimePlan(ctx, comm, model.load(), plans[p].plan, options.seconds));
    }
  std::vector<ValidatedPlan> validated;
  for (size_t p = 0; p < plans.size(); ++p) {
    StepPrediction step = model.Predict(plans[p].plan);
    const double simulated = SimulateSteps(step.ranks, SimulationOf(model)).mean;
    validated.push_back({plans[p].name, std::move(step), simulated, MedianTime(times[p])});
  }
  return validated;
}

Agreement ComputeAgreement(const std::vector<ValidatedPlan>& plans) {
  std::vector<double> predicted, measured;
  for (const ValidatedPlan& plan : plans) {
    predicted.push_back(plan.predicted.seconds);
    measured.push_back(plan.measured.seconds);
  }
  return ComputeAgreement(predicted, measured);
}

}  // namespace tessera
