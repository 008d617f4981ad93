#ifndef TESSERA_PLANNER_MODEL_ESTIMATOR_H_
#define TESSERA_PLANNER_MODEL_ESTIMATOR_H_
// Estimators fill an option's prices. A cost model is a PerfEstimator and a StorageEstimator; the
// planner holds one of each and knows nothing of their formulas.
#include <string>

#include "planner/model/model.h"
#include "planner/model/sharding_option.h"
#include "planner/model/topology.h"

namespace tessera {

// Both are called with an option whose table, type, kernel, cache_load_factor, and shapes and
// cache_lines of shards are set, and may be called from any thread.
class PerfEstimator {
 public:
  virtual ~PerfEstimator() = default;
  virtual std::string name() const = 0;  // "torchrec", "calibrated"
  // Sets perf of every shard; may split a run whose shards do not cost the same. Throws
  // PlannerError for a kernel that the device lacks.
  virtual void Estimate(const Topology& topology, const PlannerModel& model,
                        ShardingOption& option) const = 0;
};

class StorageEstimator {
 public:
  virtual ~StorageEstimator() = default;
  virtual std::string name() const = 0;
  // Sets storage, input_bytes and output_bytes of every shard; may split runs, too.
  virtual void Estimate(const Topology& topology, const PlannerModel& model,
                        ShardingOption& option) const = 0;
};

}  // namespace tessera
#endif  // TESSERA_PLANNER_MODEL_ESTIMATOR_H_
