#ifndef TESSERA_PLANNER_BANDWIDTH_ESTIMATORS_H_
#define TESSERA_PLANNER_BANDWIDTH_ESTIMATORS_H_
// The cost model "bandwidth": TorchRec's, which knows tables on disk only on a GPU and without a
// cache, and such tables as they are here (kernel key_value): a cache of rows in the device's
// memory, an index in the host's, all rows and states on disk. What the cache holds is read at the
// device's bandwidth, the rest at the disk's. On a CPU, caches of tables in host memory count, too.
#include <string>

#include "planner/torchrec/torchrec_estimators.h"

namespace tessera {

class BandwidthPerfEstimator : public TorchRecPerfEstimator {
 public:
  std::string name() const override { return "bandwidth"; }
  void Estimate(const Topology& topology, const PlannerModel& model,
                ShardingOption& option) const override;
};

class BandwidthStorageEstimator : public TorchRecStorageEstimator {
 public:
  std::string name() const override { return "bandwidth"; }
  void Estimate(const Topology& topology, const PlannerModel& model,
                ShardingOption& option) const override;
};

}  // namespace tessera
#endif  // TESSERA_PLANNER_BANDWIDTH_ESTIMATORS_H_
