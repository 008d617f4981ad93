#ifndef TESSERA_PLANNER_COST_MODELS_H_
#define TESSERA_PLANNER_COST_MODELS_H_
// The cost models by name:
//
//   calibrated   what `tessera calibrate` measured on this machine, for the options that this build
//                trains
//   bandwidth    TorchRec's formulas over the topology's bandwidths, for the same options
//   torchrec     TorchRec 1.9.2: its formulas, options, proposers, order and ties
#include <string>

#include "planner/model/topology_json.h"
#include "planner/planner.h"
#include "planner/step_model/calibrated_estimator.h"

namespace tessera {

// The name itself; without one calibrated where `machine` has a profile, else bandwidth.
std::string CostModelName(const std::string& name, const TopologyFile& machine);

// Returns the options for the cost model of this name (CostModelName). Throws Error for an unknown
// name, and for calibrated without a profile. `known` is for calibrated alone.
PlannerOptions CostModelOptions(const std::string& name, const TopologyFile& machine,
                                const PlannerModel& model, const CalibratedOptions& known = {});

// The step model of the calibrated cost model, which lives as long as options.perf; else null.
const StepModel* StepModelOf(const PlannerOptions& options);

}  // namespace tessera
#endif  // TESSERA_PLANNER_COST_MODELS_H_
