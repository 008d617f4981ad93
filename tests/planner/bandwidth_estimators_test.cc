// Tables on disk in the cost model "bandwidth": where their bytes lie and how fast they are read.
#include "planner/bandwidth_estimators.h"

#include <gtest/gtest.h>

#include "planner/cost_models.h"
#include "tests/planner/small_model.h"

namespace tessera {
namespace {

// A table of 1,000 rows and 16 columns on two ranks; `blocks` of rows, or as the type cuts them.
std::vector<ShardRun> Priced(ComputeDevice device, PlanKernel kernel, const CacheParams& cache,
                             ShardingType type, const std::vector<int64_t>& blocks = {}) {
  TopologyFile machine{.topology = GpuTopology(2, 2), .profile = {}};
  machine.topology.compute_device = device;
  PlannerModel model = ModelOf({{1000, 16}});
  TableConstraints& constraints = model.constraints[model.tables[0].name];
  constraints.cache_params = cache;
  const EmbeddingShardingPlanner planner(machine.topology, model,
                                         CostModelOptions("bandwidth", machine, model));
  auto shards = ShardsOf(planner.topology(), model, 0, type);
  for (size_t i = 0; i < blocks.size(); ++i) shards[i].rows = blocks[i];
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
  EXPECT_EQ(ddr({.bytes = 16'000, .ways = 2, .always = true}), memory + lines);
  EXPECT_EQ(ddr({.bytes = 16'000, .always = true}), memory + lines / 250 * 7 * 32) << "whole sets";
  EXPECT_EQ(ddr({.bytes = 1 << 20, .ways = 2, .always = true}), memory + 4 * lines)
      << "at most all rows";
  // Bytes are those of each shard, load_factor is a share of all rows.
  const ShardingType rows = ShardingType::kRowWise;
  const int64_t cut = ddr({.load_factor = 0.25}, rows);
  EXPECT_EQ(ddr({.load_factor = 0.25, .always = true}, rows), cut + lines);
  EXPECT_EQ(ddr({.bytes = 16'000, .ways = 2, .always = true}, rows), cut + 2 * lines);
}

TEST(BandwidthEstimatorsTest, RowsThatTheCacheLacksAreReadFromDisk) {
  const Topology topology = GpuTopology(2, 2);
  const ShardPerf disk = Priced(ComputeDevice::kCuda, PlanKernel::kKeyValue).perf,
                  memory = Priced(ComputeDevice::kCuda, PlanKernel::kFused).perf;
  EXPECT_NEAR(disk.fwd_compute / memory.fwd_compute,
              0.25 + 0.75 * topology.hbm_mem_bw / topology.ssd_mem_bw, 1e-6);
  EXPECT_EQ(disk.fwd_comms, memory.fwd_comms);
}

// 16,000 bytes hold 7 sets of 32 lines of 64 bytes, 224 rows, of a shard's 700 or 300.
TEST(BandwidthEstimatorsTest, PricesAreOfTheRowsOfAShardThatItsCacheHolds) {
  const double of_700 = 224.0 / 700, of_300 = 224.0 / 300;
  const Topology t = GpuTopology(2, 2);
  CacheParams cache = {.bytes = 16'000};
  cache.statistics = CacheStatistics{
      .expected_lookups = 90, .histogram = std::vector<double>(10, 1.0), .height = 1000};
  const auto perf = [&](PlanKernel kernel) {
    const auto runs =
        Priced(ComputeDevice::kCuda, kernel, cache, ShardingType::kRowWise, {700, 300});
    EXPECT_EQ(runs.size(), 2u);
    return std::pair(runs[0].perf, runs[1].perf);
  };
  const double memory = perf(PlanKernel::kFused).first.fwd_compute;
  const auto [large, small] = perf(PlanKernel::kFusedUvmCaching);
  const auto slowdown = [&](double held) {
    return 10 * t.hbm_mem_bw / (held * t.hbm_mem_bw + (1 - held) * t.hbm_to_ddr_mem_bw);
  };
  EXPECT_NEAR(large.fwd_compute / memory, slowdown(of_700), 1e-9);
  EXPECT_NEAR(small.fwd_compute / memory, slowdown(of_300), 1e-9);
  // 320 of 1,000 rows are found as far as 4 of the 10 parts of the histogram, 747 as far as 8;
  // each rank fetches half of what is not.
  const double fetched = 90 * 16 * 4 / t.hbm_to_ddr_mem_bw / 2;
  EXPECT_NEAR(large.prefetch / fetched, 0.6, 1e-6);
  EXPECT_NEAR(small.prefetch / fetched, 0.2, 1e-6);
  const auto [disk, less_disk] = perf(PlanKernel::kKeyValue);
  const auto read = [&](double held) { return held + (1 - held) * t.hbm_mem_bw / t.ssd_mem_bw; };
  EXPECT_NEAR(disk.fwd_compute / memory, read(of_700), 1e-6);
  EXPECT_NEAR(less_disk.fwd_compute / memory, read(of_300), 1e-6);
}

}  // namespace
}  // namespace tessera
