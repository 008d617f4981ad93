#include "cli/plan/plan_simulate.h"

#include "cli/show/numbers.h"
#include "runtime/base/check.h"

namespace tessera::cli {
namespace {

std::string PercentText(double share) { return Fixed(100 * share, 0) + " %"; }

}  // namespace

std::vector<SimulatedPlan> SimulatePlan(const StepModel& model, const ShardingPlan& plan,
                                        const PlanFlags& flags) {
  const StepPrediction step = model.Predict(plan);
  SimulationOptions options = SimulationOf(model);
  options.steps = flags.simulate;
  std::vector<SimulatedPlan> simulated;
  const auto add = [&](std::string name) {
    simulated.push_back({std::move(name), SimulateSteps(step.ranks, options)});
  };
  add("every rank keeps its speed");
  options.jitter = flags.jitter;
  add(Format("work varies by {:g} %", 100 * flags.jitter));
  options.slow_rank = flags.slow_rank;
  add(Format("and rank 0 takes {:g} times as long", flags.slow_rank));
  return simulated;
}

std::string SimulationText(const std::vector<SimulatedPlan>& simulated, int ranks) {
  std::vector<std::vector<std::string>> rows = {{"steps of " + Counted(ranks, "rank"), "mean, ms",
                                                 "p50", "p99", "at work", "waiting for ranks",
                                                 "exchanging"}};
  for (const auto& [name, steps] : simulated)
    rows.push_back({name, Fixed(1e3 * steps.mean, 3), Fixed(1e3 * steps.p50, 3),
                    Fixed(1e3 * steps.p99, 3), PercentText(steps.working),
                    PercentText(steps.waiting), PercentText(steps.exchanging)});
  return TextTable(rows);
}

}  // namespace tessera::cli
