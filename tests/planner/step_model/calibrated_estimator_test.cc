#include "planner/step_model/calibrated_estimator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "embedding/storage/row_log.h"
#include "planner/model/planner_error.h"
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
  options.statistics[{"b", "fb"}] = measured;
  const StepLoad load = StepLoadOf(SmallModel(), options);
  ASSERT_EQ(load.tables.size(), 2u);
  EXPECT_EQ(load.tables[0].features[0].ids, 512 * 8);
  EXPECT_EQ(load.tables[0].features[0].popularity, UniformRows(10'000));
  EXPECT_EQ(load.tables[1].features[0].ids, 512 * 3);
  EXPECT_EQ(load.tables[1].features[0].popularity, measured.popularity);
  EXPECT_TRUE(load.dense_flops.empty());
  // A table that reads the same feature has statistics of its own.
  PlannerModel shared = SmallModel();
  shared.tables[0].features = {"fb"};
  EXPECT_EQ(StepLoadOf(shared, options).tables[0].features[0].ids, 512 * 8);
  PlannerModel dense = SmallModel();
  dense.dense_parameter_bytes = 4 * 1000;
  EXPECT_THAT(StepLoadOf(dense, options).dense_flops, ::testing::ElementsAre(6.0 * 512 * 1000));
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
  options.statistics[{"a", "fa"}] = measured;
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

// A table of 2 column blocks of 4 row blocks each, all of one shape: a single run until it is
// priced.
ShardingOption Grid(int table) { return Option(table, ShardingType::kGridShard, {{8, 2'500, 32}}); }

TEST(CalibratedPerfEstimator, LaterColumnBlocksOfAGridAreCopies) {
  const PlannerModel model = SmallModel();
  const CalibratedPerfEstimator estimator(MadeUpProfile(), FourRanks(), model);
  ShardingOption grid = Grid(0);
  estimator.Estimate(FourRanks(), model, grid);
  ASSERT_EQ(grid.shards.size(), 2u);
  for (size_t block = 0; block < 2; ++block) {
    const Shard first{0, 0, static_cast<int64_t>(32 * block), 2'500, 32};
    const ShardSeconds price =
        estimator.step_model().PriceShard(0, ShardingType::kGridShard, first, block == 0);
    EXPECT_EQ(grid.shards[block].count, 4);
    EXPECT_NEAR(grid.shards[block].perf.total(),
                1e3 * (price.own.total() + 4 * price.everyone.total()), 1e-9);
  }
  EXPECT_NE(grid.shards[0].perf, grid.shards[1].perf);
  // A grid that is cut already stays as it is, and so do whole columns.
  ShardingOption again = grid, columns = Option(0, ShardingType::kColumnWise, {{2, 10'000, 32}});
  estimator.Estimate(FourRanks(), model, again);
  estimator.Estimate(FourRanks(), model, columns);
  EXPECT_EQ(again.shards.size(), 2u);
  EXPECT_EQ(again.total_perf(), grid.total_perf());
  EXPECT_EQ(columns.shards.size(), 1u);
}

TEST(CalibratedStorageEstimator, AHotBlockOfRowsTakesMore) {
  const PlannerModel model = SmallModel();
  CalibratedOptions options;
  FeatureStatistics measured{.bags = 1, .ids = 8};
  measured.popularity = ZipfRows(10'000, 1.1, true);
  options.statistics[{"a", "fa"}] = measured;
  const CalibratedStorageEstimator estimator(FourRanks(), model, options);
  ShardingOption rows = Option(0, ShardingType::kRowWise, {{4, 2'500, 64}}), grid = Grid(0);
  estimator.Estimate(FourRanks(), model, rows);
  estimator.Estimate(FourRanks(), model, grid);
  ASSERT_EQ(rows.shards.size(), 4u);
  EXPECT_GT(static_cast<double>(rows.shards[0].input_bytes),
            1.2 * static_cast<double>(rows.shards[3].input_bytes));
  EXPECT_GT(rows.shards[0].storage.ddr, rows.shards[3].storage.ddr);
  ASSERT_EQ(grid.shards.size(), 8u);
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(grid.shards[i].input_bytes, rows.shards[i].input_bytes);
    EXPECT_EQ(grid.shards[i].storage, grid.shards[i + 4].storage);
  }
}

TEST(CalibratedPerfEstimator, ATableOnDiskCostsWhatItsCacheLacks) {
  MachineProfile profile = MadeUpProfile();
  profile.tiers[ComputeKernel::kKeyValue].row = 1e-6;
  profile.steps.clear();
  const auto lookup = [&](double lines, PlanKernel kernel) {
    PlannerModel model = SmallModel();
    model.constraints["a"].cache_params = CacheParams{.load_factor = lines, .ways = 4};
    const CalibratedPerfEstimator estimator(profile, FourRanks(), model);
    ShardingOption option = Option(0, ShardingType::kTableWise, {{1, 10'000, 64}});
    option.kernel = kernel;
    estimator.Estimate(FourRanks(), model, option);
    return option.shards[0].perf.fwd_compute;
  };
  const double memory = lookup(0.25, PlanKernel::kFused);
  const CalibratedPerfEstimator any(profile, FourRanks(), SmallModel());
  const StepFeature& feature = any.step_model().load().tables[0].features[0];
  const double rows = DistinctRows(feature.popularity, 4 * feature.ids);
  EXPECT_NEAR(lookup(0.25, PlanKernel::kKeyValue) - memory, 0.75 * rows * 1e-6 * 1e3, 1e-9);
  EXPECT_NEAR(lookup(1, PlanKernel::kKeyValue), memory, 1e-12);
}

TEST(CalibratedPerfEstimator, BytesOfACacheAreThoseOfEachShard) {
  MachineProfile profile = MadeUpProfile();
  profile.tiers[ComputeKernel::kKeyValue].row = 1e-6;
  profile.steps.clear();
  PlannerModel model = SmallModel();
  // A line is 64 floats and a state: 20 sets of 32 lines fit, and nearly one more.
  model.constraints["a"].cache_params = CacheParams{.bytes = (64 * 4 + 4) * (21 * 32 - 1)};
  const CalibratedPerfEstimator estimator(profile, FourRanks(), model);
  const auto lookup = [&](PlanKernel kernel) {
    ShardingOption option = Option(0, ShardingType::kRowWise, {{4, 2'500, 64}});
    option.kernel = kernel;
    estimator.Estimate(FourRanks(), model, option);
    return option.shards[0].perf.fwd_compute;
  };
  const StepFeature& feature = estimator.step_model().load().tables[0].features[0];
  const double rows = DistinctRows(feature.popularity, 4 * feature.ids) / 4;
  EXPECT_NEAR(lookup(PlanKernel::kKeyValue) - lookup(PlanKernel::kFused),
              (1 - 640.0 / 2'500) * rows * 1e-6 * 1e3, 1e-9);
}

TEST(CalibratedPerfEstimator, RefusesWhatItCannotPrice) {
  const PlannerModel model = SmallModel();
  const CalibratedPerfEstimator estimator(MadeUpProfile(), FourRanks(), model);
  ShardingOption option = Option(0, ShardingType::kTableWise, {{1, 10'000, 64}});
  option.kernel = PlanKernel::kKeyValue;  // in a profile that has not measured disks
  EXPECT_THROW(estimator.Estimate(FourRanks(), model, option), PlannerError);
  option.kernel = PlanKernel::kSsdVirtualTable;
  EXPECT_THROW(estimator.Estimate(FourRanks(), model, option), PlannerError);
  option.kernel = PlanKernel::kFused;
  PlannerModel other = model;
  other.tables[0].name = "z";
  EXPECT_THROW(estimator.Estimate(FourRanks(), other, option), Error);
}

TEST(CalibratedStorageEstimator, PutsRowsWhereTheKernelKeepsThem) {
  const PlannerModel model = SmallModel();
  constexpr int64_t kKept = 10'000 * 64 * 4 + 10'000 * 4;
  constexpr int64_t kLines = kKept / 5 + 2'000 * (8 + 8 + 4 + 1);  // with the cache's index
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
            (Storage{step + kLines, kKept, 0}));
  EXPECT_EQ(storage(ComputeDevice::kCpu, PlanKernel::kFusedUvmCaching),
            (Storage{0, step + kKept + kLines, 0}));
  constexpr int64_t kIndex = 10'000 * 4;
  const int64_t file = RowLog::FileBytes(10'000, 64 * 4 + 4);
  EXPECT_GT(file, kKept * 3 / 2) << "a log has room for rows that were written anew";
  EXPECT_EQ(storage(ComputeDevice::kCuda, PlanKernel::kKeyValue),
            (Storage{step + kLines, kIndex, file}));
  EXPECT_EQ(storage(ComputeDevice::kCpu, PlanKernel::kKeyValue),
            (Storage{0, step + kLines + kIndex, file}));
}

}  // namespace
}  // namespace tessera
