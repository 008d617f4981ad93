// Tables on disk in the cost model "bandwidth": where their bytes lie and how fast they are read.
#include "planner/bandwidth_estimators.h"

#include <gtest/gtest.h>

#include "planner/cost_models.h"
#include "tests/planner/small_model.h"

namespace tessera {
namespace {

// A table of 1,000 rows and 16 columns on two ranks.
std::vector<ShardRun> Priced(ComputeDevice device, PlanKernel kernel, const CacheParams& cache,
                             ShardingType type) {
  TopologyFile machine{.topology = GpuTopology(2, 2), .profile = {}};
  machine.topology.compute_device = device;
  PlannerModel model = ModelOf({{1000, 16}});
  TableConstraints& constraints = model.constraints[model.tables[0].name];
  constraints.cache_params = cache;
  const EmbeddingShardingPlanner planner(machine.topology, model,
                                         CostModelOptions("bandwidth", machine, model));
  const auto shards = ShardsOf(planner.topology(), model, 0, type);
  return planner.enumerator().Price(0, type, kernel, shards).shards;
}

// The table on rank 0, and a cache of a quarter of it.
ShardRun Priced(ComputeDevice device, PlanKernel kernel) {
  return Priced(device, kernel, {.load_factor = 0.25}, ShardingType::kTableWise)[0];
}

TEST(BandwidthEstimatorsTest, ATableOnDiskTakesACacheAndAnIndex) {
  for (const ComputeDevice device : {ComputeDevice::kCpu, ComputeDevice::kCuda}) {
    const bool cpu = device == ComputeDevice::kCpu;
    const Storage disk = Priced(device, PlanKernel::kKeyValue).storage,
                  memory = Priced(device, PlanKernel::kFused).storage;
    const int64_t rows = 1000 * 16 * 4, index = 1000 * 4;
    EXPECT_GE(disk.ssd, rows);
    const int64_t lines = 250 * (16 * 4 + 8 + 8 + 4 + 1),
                  step = (cpu ? memory.ddr : memory.hbm) - rows;
    EXPECT_EQ(disk.ddr, cpu ? step + lines + index : index);
    EXPECT_EQ(disk.hbm, cpu ? 0 : step + lines);
    EXPECT_EQ(memory.ssd, 0);
  }
}

TEST(BandwidthEstimatorsTest, ACacheOnACpuIsInHostMemory) {
  const int64_t lines = 250 * (16 * 4 + 8 + 8 + 4 + 1);
  const auto ddr = [](const CacheParams& cache, ShardingType type = ShardingType::kTableWise) {
    int64_t sum = 0;
    for (const ShardRun& run : Priced(ComputeDevice::kCpu, PlanKernel::kFused, cache, type))
      sum += run.count * run.storage.ddr;
    return sum;
  };
  const int64_t memory = ddr({.load_factor = 0.25});
  EXPECT_EQ(ddr({.load_factor = 0.25, .always = true}), memory + lines);
  EXPECT_EQ(ddr({.bytes = 16'000, .always = true}), memory + lines);
  EXPECT_EQ(ddr({.bytes = 1 << 20, .always = true}), memory + 4 * lines) << "at most all rows";
  // Bytes are those of each shard, load_factor is a share of all rows.
  const ShardingType rows = ShardingType::kRowWise;
  const int64_t cut = ddr({.load_factor = 0.25}, rows);
  EXPECT_EQ(ddr({.load_factor = 0.25, .always = true}, rows), cut + lines);
  EXPECT_EQ(ddr({.bytes = 16'000, .always = true}, rows), cut + 2 * lines);
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
