#ifndef TESSERA_PLANNER_TORCHREC_TORCHREC_ESTIMATORS_H_
#define TESSERA_PLANNER_TORCHREC_TORCHREC_ESTIMATORS_H_
// TorchRec 1.9.2's cost model, digit for digit. Per shard of a table with I ids and O outputs a
// rank (LoadOf), E columns of t bytes, over W ranks, n ranks a cut of rows:
//
//   read   8 bytes an id, twice where weighted       look   I·E·t of the ids that the shard serves
//   out    O·E·bytes of its collective
//   fwd_compute = (read + look + out)·penalty of narrow columns / bandwidth of the kernel
//   fwd_comms, bwd_comms = out / bandwidth of the collective, plus copies (row types) or the
//   all-reduce of the table (data_parallel); bwd_compute = a multiple of fwd_compute
//
// What a table's cache misses is read through PCIe before the step (prefetch). Storage is the shard
// and its optimizer, plus ids and outputs in flight. Sums and products are in double, in the order
// written; bytes are ceilings of doubles.
#include <optional>
#include <string>

#include "planner/model/estimator.h"

namespace tessera {

class TorchRecPerfEstimator : public PerfEstimator {
 public:
  std::string name() const override { return "torchrec"; }
  void Estimate(const Topology& topology, const PlannerModel& model,
                ShardingOption& option) const override;
};

class TorchRecStorageEstimator : public StorageEstimator {
 public:
  std::string name() const override { return "torchrec"; }
  void Estimate(const Topology& topology, const PlannerModel& model,
                ShardingOption& option) const override;
};

// Bytes a ms at which a kernel reads rows. Throws PlannerError for one that the device lacks.
double KernelBandwidth(const Topology& topology, PlanKernel kernel,
                       std::optional<double> cache_load_factor, bool prefetch_pipeline);

// The share of lookups that a cache of `load_factor` of the rows misses; in float, as TorchRec's.
double MissRate(const CacheStatistics& statistics, double load_factor);

// Optimizer state in bytes for each byte of weights: `kept_bytes`, or the states of the rule that
// `optimizer` names in numbers of `state_dtype`. Without both, TorchRec's estimate:
// 0 none and sgd, 2 adam, 1/dim rowwise_adagrad, 1 any other.
double OptimizerMultiplier(const PlannerTable& table);
// The bytes of a row of so many columns with its optimizer states, which a line of a cache holds.
double LineBytes(const PlannerTable& table, int64_t columns);

}  // namespace tessera
#endif  // TESSERA_PLANNER_TORCHREC_TORCHREC_ESTIMATORS_H_
