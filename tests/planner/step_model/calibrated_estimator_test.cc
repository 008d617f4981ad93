#include "planner/step_model/calibrated_estimator.h"

#include <gtest/gtest.h>

#include "planner/planner_error.h"
#include "tests/planner/testing/made_up_profile.h"

namespace tessera {
namespace {

using testing::MadeUpProfile;

PlannerModel SmallModel() {
  PlannerModel model;
  model.batch_size = 512;
  model.modules = {{"ebc", ModuleKind::kEbc, false}};
  for (const char* name : {"a", "b"})
    model.tables.push_back({.name = name,
                            .rows = 10'000,
                            .dim = 64,
                            .features = {std::string("f") + name},
                            .optimizer = "rowwise_adagrad"});
  model.constraints["a"].pooling_factors = {8};
  return model;
}

Topology FourRanks(ComputeDevice device = ComputeDevice::kCpu) {
  Topology topology;
  topology.compute_device = device;
  topology.world_size = topology.local_world_size = 4;
  return topology;
}

ShardingOption Option(int table, ShardingType type, std::vector<ShardRun> shards) {
  ShardingOption option;
  option.table = table;
  option.type = type;
  option.shards = std::move(shards);
  return option;
}

TEST(StepLoadOf, TakesTablesAndConstraints) {
  CalibratedOptions options;
  FeatureStatistics measured{.bags = 10, .ids = 30};
  measured.popularity = ZipfRows(10'000, 1, true);
  options.statistics["fb"] = measured;
  const StepLoad load = StepLoadOf(SmallModel(), options);
  ASSERT_EQ(load.tables.size(), 2u);
  EXPECT_EQ(load.tables[0].features[0].ids, 512 * 8);
  EXPECT_EQ(load.tables[0].features[0].popularity, UniformRows(10'000));
  EXPECT_EQ(load.tables[1].features[0].ids, 512 * 3);
  EXPECT_EQ(load.tables[1].features[0].popularity, measured.popularity);
  PlannerModel other = SmallModel();
  other.tables[0].optimizer = "nadam";
  EXPECT_THROW(CalibratedPerfEstimator(MadeUpProfile(), FourRanks(), other), Error);
}

TEST(CalibratedPerfEstimator, PricesAreTheStepModels) {
  const PlannerModel model = SmallModel();
  const CalibratedPerfEstimator estimator(MadeUpProfile(), FourRanks(), model);
  ShardingOption option = Option(0, ShardingType::kTableWise, {{1, 10'000, 64}});
  estimator.Estimate(FourRanks(), model, option);
  const ShardSeconds price =
      estimator.step_model().PriceShard(0, ShardingType::kTableWise, {0, 0, 0, 10'000, 64}, true);
  const double seconds = price.own.total() + 4 * price.everyone.total();
  ASSERT_EQ(option.shards.size(), 1u);
  EXPECT_NEAR(option.total_perf(), 1e3 * seconds, 1e-9);
  EXPECT_GT(option.shards[0].perf.input_dist, 0);
  EXPECT_LT(option.shards[0].perf.input_dist, option.shards[0].perf.fwd_comms);
}

TEST(CalibratedPerfEstimator, AHotBlockOfRowsIsDearer) {
  const PlannerModel model = SmallModel();
  CalibratedOptions options;
  FeatureStatistics measured{.bags = 1, .ids = 8};
  measured.popularity = ZipfRows(10'000, 1.1, true);
  options.statistics["fa"] = measured;
  const CalibratedPerfEstimator estimator(MadeUpProfile(), FourRanks(), model, options);
  ShardingOption hot = Option(0, ShardingType::kRowWise, {{4, 2'500, 64}}),
                 even = Option(1, ShardingType::kRowWise, {{4, 2'500, 64}});
  estimator.Estimate(FourRanks(), model, hot);
  estimator.Estimate(FourRanks(), model, even);
  ASSERT_EQ(hot.num_shards(), 4);
  EXPECT_GT(hot.shards[0].perf.total(), 1.2 * hot.shards[3].perf.total());
  EXPECT_EQ(even.shards.size(), 1u);
  EXPECT_EQ(even.num_shards(), 4);
}

TEST(CalibratedPerfEstimator, RefusesWhatItCannotPrice) {
  const PlannerModel model = SmallModel();
  const CalibratedPerfEstimator estimator(MadeUpProfile(), FourRanks(), model);
  ShardingOption option = Option(0, ShardingType::kTableWise, {{1, 10'000, 64}});
  option.kernel = PlanKernel::kKeyValue;
  EXPECT_THROW(estimator.Estimate(FourRanks(), model, option), PlannerError);
  option.kernel = PlanKernel::kFused;
  PlannerModel other = model;
  other.tables[0].name = "z";
  EXPECT_THROW(estimator.Estimate(FourRanks(), other, option), Error);
}

TEST(CalibratedStorageEstimator, PutsRowsWhereTheKernelKeepsThem) {
  const PlannerModel model = SmallModel();
  constexpr int64_t kKept = 10'000 * 64 * 4 + 10'000 * 4;
  const auto storage = [&](ComputeDevice device, PlanKernel kernel) {
    ShardingOption option = Option(0, ShardingType::kTableWise, {{1, 10'000, 64}});
    option.kernel = kernel;
    const Topology topology = FourRanks(device);
    CalibratedStorageEstimator(topology, model).Estimate(topology, model, option);
    EXPECT_GT(option.shards[0].input_bytes, 0);
    EXPECT_GT(option.shards[0].output_bytes, 0);
    return option.shards[0].storage;
  };
  const Storage cpu = storage(ComputeDevice::kCpu, PlanKernel::kFused);
  EXPECT_EQ(cpu.hbm, 0);
  const int64_t step = cpu.ddr - kKept;
  EXPECT_GT(step, 0);
  EXPECT_EQ(storage(ComputeDevice::kCuda, PlanKernel::kFused), (Storage{kKept + step, 0, 0}));
  EXPECT_EQ(storage(ComputeDevice::kCuda, PlanKernel::kFusedUvm), (Storage{step, kKept, 0}));
  EXPECT_EQ(storage(ComputeDevice::kCuda, PlanKernel::kFusedUvmCaching),
            (Storage{step + kKept / 5, kKept, 0}));
}

}  // namespace
}  // namespace tessera
