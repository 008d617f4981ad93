// Tables on disk in the cost model "bandwidth": where their bytes lie and how fast they are read.
#include "planner/bandwidth_estimators.h"

#include <gtest/gtest.h>

#include "planner/cost_models.h"
#include "tests/planner/small_model.h"

namespace tessera {
namespace {

// A table of 1,000 rows and 16 columns, of which a cache has a quarter, on rank 0 of two.
ShardRun Priced(ComputeDevice device, PlanKernel kernel) {
  TopologyFile machine{.topology = GpuTopology(2, 2), .profile = {}};
  machine.topology.compute_device = device;
  PlannerModel model = ModelOf({{1000, 16}});
  TableConstraints& constraints = model.constraints[model.tables[0].name];
  constraints.cache_params = {.load_factor = 0.25};
  const EmbeddingShardingPlanner planner(machine.topology, model,
                                         CostModelOptions("bandwidth", machine, model));
  const auto shards = ShardsOf(planner.topology(), model, 0, ShardingType::kTableWise);
  return planner.enumerator().Price(0, ShardingType::kTableWise, kernel, shards).shards[0];
}

TEST(BandwidthEstimatorsTest, ATableOnDiskTakesACacheAndAnIndex) {
  for (const ComputeDevice device : {ComputeDevice::kCpu, ComputeDevice::kCuda}) {
    const bool cpu = device == ComputeDevice::kCpu;
    const Storage disk = Priced(device, PlanKernel::kKeyValue).storage,
                  memory = Priced(device, PlanKernel::kFused).storage;
    const int64_t rows = 1000 * 16 * 4, index = 1000 * 4;
    EXPECT_GE(disk.ssd, rows);
    const int64_t lines = disk.ssd / 4, step = (cpu ? memory.ddr : memory.hbm) - rows;
    EXPECT_EQ(disk.ddr, cpu ? step + lines + index : index);
    EXPECT_EQ(disk.hbm, cpu ? 0 : step + lines);
    EXPECT_EQ(memory.ssd, 0);
  }
}

TEST(BandwidthEstimatorsTest, RowsThatTheCacheLacksAreReadFromDisk) {
  const Topology topology = GpuTopology(2, 2);
  const ShardPerf disk = Priced(ComputeDevice::kCuda, PlanKernel::kKeyValue).perf,
                  memory = Priced(ComputeDevice::kCuda, PlanKernel::kFused).perf;
  EXPECT_NEAR(disk.fwd_compute / memory.fwd_compute,
              0.25 + 0.75 * topology.hbm_mem_bw / topology.ssd_mem_bw, 1e-6);
  EXPECT_EQ(disk.fwd_comms, memory.fwd_comms);
}

}  // namespace
}  // namespace tessera
