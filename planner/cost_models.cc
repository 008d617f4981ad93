#include "planner/cost_models.h"

#include <memory>

#include "planner/bandwidth_estimators.h"
#include "planner/calibration/machine_profile_json.h"
#include "runtime/base/check.h"

namespace tessera {
namespace {

PlannerOptions TorchRecOptions() {
  PlannerOptions options;
  options.proposers = TorchRecProposers();
  return options;
}

PlannerOptions BandwidthOptions() {
  PlannerOptions options;
  options.option_rules = OptionRules::kBuild;
  options.perf = std::make_shared<BandwidthPerfEstimator>();
  options.storage = std::make_shared<BandwidthStorageEstimator>();
  return options;
}

PlannerOptions CalibratedModelOptions(const TopologyFile& machine, const PlannerModel& model,
                                      const CalibratedOptions& known) {
  if (machine.profile.empty())
    throw Error(
        "cost model 'calibrated': the topology has no measured profile; tessera calibrate makes "
        "one");
  PlannerOptions options = BandwidthOptions();
  options.perf = std::make_shared<CalibratedPerfEstimator>(MachineProfileOf(machine),
                                                           machine.topology, model, known);
  options.storage = std::make_shared<CalibratedStorageEstimator>(machine.topology, model, known);
  return options;
}

}  // namespace

std::string CostModelName(const std::string& name, const TopologyFile& machine) {
  if (!name.empty()) return name;
  return machine.profile.empty() ? "bandwidth" : "calibrated";
}

PlannerOptions CostModelOptions(const std::string& name, const TopologyFile& machine,
                                const PlannerModel& model, const CalibratedOptions& known) {
  const std::string chosen = CostModelName(name, machine);
  if (chosen == "torchrec") return TorchRecOptions();
  if (chosen == "bandwidth") return BandwidthOptions();
  if (chosen == "calibrated") return CalibratedModelOptions(machine, model, known);
  throw Error(Format("cost model '{}': expected calibrated, bandwidth or torchrec", chosen));
}

const StepModel* StepModelOf(const PlannerOptions& options) {
  const auto* calibrated = dynamic_cast<const CalibratedPerfEstimator*>(options.perf.get());
  return calibrated == nullptr ? nullptr : &calibrated->step_model();
}

}  // namespace tessera
