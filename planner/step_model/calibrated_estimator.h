#ifndef TESSERA_PLANNER_STEP_MODEL_CALIBRATED_ESTIMATOR_H_
#define TESSERA_PLANNER_STEP_MODEL_CALIBRATED_ESTIMATOR_H_
// The planner's estimators of time and memory for a machine that was measured.
//
// A shard costs what it adds to the work and the waiting of all ranks: its own rank's part, and
// what it gives every rank to do, times their number. So prices of a plan add up to the sum over
// ranks, which is what balance and shared cores make of them; StepModel::Predict says how long the
// plan's step is. Milliseconds:
//
//   fwd_compute  lookup                      fwd_comms  ids and rows there, with their waiting
//   bwd_compute  update                      bwd_comms  gradients back, with their waiting
//   input_dist   of fwd_comms, the ids
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "planner/model/estimator.h"
#include "planner/step_model/feature_statistics.h"
#include "planner/step_model/step_memory.h"
#include "planner/step_model/step_model.h"

namespace tessera {

// Knowledge beside the planner's own model.
struct CalibratedOptions {
  // Statistics by table and feature, as tables of several sizes may read a feature; pooling factors
  // measured here are used in place of the constraints'.
  std::map<std::pair<std::string, std::string>, FeatureStatistics> statistics = {};
  WireCodecs codecs = {};
  double batches_in_flight = 1;
};

// The tables of a planner's model as a step's load; tables without an optimizer have "sgd". Throws
// Error for an optimizer that the library does not have.
StepLoad StepLoadOf(const PlannerModel& model, const CalibratedOptions& options = {});

class CalibratedPerfEstimator final : public PerfEstimator {
 public:
  // An estimator for this model on this topology's ranks, and no other.
  CalibratedPerfEstimator(MachineProfile profile, const Topology& topology,
                          const PlannerModel& model, const CalibratedOptions& options = {});

  std::string name() const override { return "calibrated"; }
  // Throws PlannerError for a kernel that the library does not run.
  void Estimate(const Topology& topology, const PlannerModel& model,
                ShardingOption& option) const override;

  const StepModel& step_model() const { return model_; }

 private:
  ShardPerf PerfOf(const ShardingOption& option, const Shard& shard) const;

  StepModel model_;
};

class CalibratedStorageEstimator final : public StorageEstimator {
 public:
  // An estimator for this model on this topology's ranks, and no other.
  CalibratedStorageEstimator(const Topology& topology, const PlannerModel& model,
                             const CalibratedOptions& options = {});

  std::string name() const override { return "calibrated"; }
  // Estimates memory: on a CPU, and under the kernels with uvm, rows and states lie in ddr; a cache
  // of rows, and all that a step needs beside them, in the device's memory.
  void Estimate(const Topology& topology, const PlannerModel& model,
                ShardingOption& option) const override;

 private:
  StepLoad load_;
  double ranks_, batches_in_flight_;
};

}  // namespace tessera
#endif  // TESSERA_PLANNER_STEP_MODEL_CALIBRATED_ESTIMATOR_H_
