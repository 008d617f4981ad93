#include "planner/bandwidth_estimators.h"

#include <cmath>

#include "embedding/config/cache_size.h"
#include "embedding/table/table_memory.h"

namespace tessera {
namespace {

double& DeviceBandwidth(Topology& topology) {
  return topology.compute_device == ComputeDevice::kCpu ? topology.ddr_mem_bw : topology.hbm_mem_bw;
}

double LoadFactorOf(const PlannerModel& model, const ShardingOption& option) {
  const PlannerTable& table = model.tables.at(static_cast<size_t>(option.table));
  return option.cache_load_factor.value_or(model.cache_load_factor(table));
}

}  // namespace

void BandwidthPerfEstimator::Estimate(const Topology& topology, const PlannerModel& model,
                                      ShardingOption& option) const {
  if (option.kernel != PlanKernel::kKeyValue)
    return TorchRecPerfEstimator::Estimate(topology, model, option);
  const double load_factor = LoadFactorOf(model, option);
  ShardingOption one = option;
  one.kernel = PlanKernel::kFused;
  for (ShardRun& run : option.shards) {
    Topology mixed = topology;
    const double cached = run.cached_share(load_factor);
    double& bandwidth = DeviceBandwidth(mixed);
    bandwidth = 1 / (cached / bandwidth + (1 - cached) / topology.ssd_mem_bw);
    one.shards = {run};
    TorchRecPerfEstimator::Estimate(mixed, model, one);
    run.perf = one.shards[0].perf;
  }
}

void BandwidthStorageEstimator::Estimate(const Topology& topology, const PlannerModel& model,
                                         ShardingOption& option) const {
  TorchRecStorageEstimator::Estimate(topology, model, option);
  const bool cpu = topology.compute_device == ComputeDevice::kCpu,
             on_disk = option.kernel == PlanKernel::kKeyValue;
  const PlannerTable& table = model.tables.at(static_cast<size_t>(option.table));
  if (!on_disk && !(cpu && model.is_cached_on_cpu(table, option.kernel))) return;
  const double load_factor = LoadFactorOf(model, option);
  for (ShardRun& run : option.shards) {
    const double bytes = BytesOfLines(run.lines(load_factor), LineBytes(table, run.columns));
    (cpu ? run.storage.ddr : run.storage.hbm) += static_cast<int64_t>(std::ceil(bytes));
    if (on_disk) run.storage.ddr += kDiskIndexBytes * run.rows;
  }
}

}  // namespace tessera
