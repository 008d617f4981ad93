// The figures of TorchRec's own unit tests (planner/tests/test_shard_estimators.py): W = 2 on one
// node, B = 512, a table of [100, 10] with one feature of L = 1.
#include "planner/torchrec/torchrec_estimators.h"

#include <gtest/gtest.h>

#include "planner/model/planner_error.h"
#include "tests/planner/small_model.h"

namespace tessera {
namespace {

ShardPerf PerfOf(ShardingType type, PlanKernel kernel) {
  const EmbeddingShardingPlanner planner(GpuTopology(2, 2), ModelOf({{100, 10}}));
  return planner.enumerator()
      .Price(0, type, kernel, ShardsOf(planner.topology(), planner.model(), 0, type))
      .shards[0]
      .perf;
}

void ExpectPerf(const ShardPerf& got, double fwd, double fwd_comms, double bwd, double bwd_comms) {
  EXPECT_DOUBLE_EQ(got.fwd_compute, fwd);
  EXPECT_DOUBLE_EQ(got.fwd_comms, fwd_comms);
  EXPECT_DOUBLE_EQ(got.bwd_compute, bwd);
  EXPECT_DOUBLE_EQ(got.bwd_comms, bwd_comms);
}

TEST(TorchRecEstimatorsTest, PerfIsTorchRecs) {
  ExpectPerf(PerfOf(ShardingType::kDataParallel, PlanKernel::kDense), 9.356002212235228e-05, 0,
             1.8712004424470456e-04, 2.25593945387348e-04);
  for (const ShardingType type : {ShardingType::kTableWise, ShardingType::kColumnWise})
    ExpectPerf(PerfOf(type, PlanKernel::kFused), 3.27460077428233e-04, 6.357828776041667e-05,
               6.54920154856466e-04, 6.357828776041667e-05);
  for (const ShardingType type : {ShardingType::kRowWise, ShardingType::kTableRowWise})
    ExpectPerf(PerfOf(type, PlanKernel::kFused), 6.804365245261984e-05, 6.357828776041667e-05,
               1.360873049052397e-04, 1.6798276699240525e-04);
  ExpectPerf(PerfOf(ShardingType::kTableWise, PlanKernel::kFusedUvmCaching), 0.01432837509527439,
             6.357828776041667e-05, 0.02865675019054878, 6.357828776041667e-05);
  ExpectPerf(PerfOf(ShardingType::kRowWise, PlanKernel::kFusedUvm), 0.019073486328125,
             6.357828776041667e-05, 0.03814697265625, 0.029329458872477215);
}

TEST(TorchRecEstimatorsTest, MissesAreCountedByBins) {
  const CacheStatistics statistics{.histogram = {6, 3, 1}, .height = 300};
  EXPECT_EQ(MissRate(statistics, 0), 1);
  EXPECT_NEAR(MissRate(statistics, 0.5), 0.1, 1e-6);  // bins whose lower edge is cached are hits
  EXPECT_EQ(MissRate({.histogram = {0, 0}, .height = 10}, 0.5), 0);
}

TEST(TorchRecEstimatorsTest, OptimizersTakeMemory) {
  PlannerModel model = ModelOf({{100, 10}});
  const auto hbm = [&](const char* optimizer) {
    model.tables[0].optimizer = optimizer;
    const EmbeddingShardingPlanner planner(GpuTopology(2, 2), model);
    return planner.enumerator().Enumerate()[1].shards[0].storage.hbm;
  };
  const int64_t plain = hbm("");
  EXPECT_EQ(hbm("sgd"), plain);
  EXPECT_EQ(hbm("adam"), plain + 2 * 4000);
  EXPECT_EQ(hbm("rowwise_adagrad"), plain + 400);
  EXPECT_EQ(hbm("adagrad"), plain + 4000);
  model.tables[0].state_dtype = RowDType::kFp16;
  EXPECT_EQ(hbm("adagrad"), plain + 2000);
  EXPECT_EQ(hbm("counter_rowwise_adagrad"), plain + 1000);
}

TEST(TorchRecEstimatorsTest, AKernelThatTheDeviceLacksIsAnError) {
  Topology cpu;
  cpu.compute_device = ComputeDevice::kCpu;
  try {
    KernelBandwidth(cpu, PlanKernel::kFusedUvm, {}, false);
    FAIL();
  } catch (const PlannerError& error) {
    EXPECT_EQ(error.kind(), PlannerErrorKind::kNoKernelBandwidth);
  }
}

}  // namespace
}  // namespace tessera
