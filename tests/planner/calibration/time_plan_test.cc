#include "planner/calibration/time_plan.h"

#include <gtest/gtest.h>

#include <cmath>

#include "comm/local_communicator.h"
#include "planner/calibration/validate_plans.h"
#include "runtime/base/check.h"
#include "sharding/plan/plan_makers.h"
#include "tests/planner/testing/made_up_profile.h"

namespace tessera {
namespace {

TEST(Agreement, OfThingsInOneOrderIsPerfect) {
  const std::vector<double> predicted = {1, 2, 3, 4}, measured = {2, 4, 6, 8};
  const Agreement a = ComputeAgreement(predicted, measured);
  EXPECT_DOUBLE_EQ(a.spearman, 1);
  EXPECT_DOUBLE_EQ(a.median_error, 0.5);
  EXPECT_NEAR(a.median_ratio_error, 0, 1e-12);
}

TEST(Agreement, OfThingsInTheOtherOrder) {
  EXPECT_DOUBLE_EQ(
      ComputeAgreement(std::vector<double>{1, 2, 3}, std::vector<double>{3, 2, 1}).spearman, -1);
}

TEST(Agreement, TiesShareTheirRanks) {
  // Ranks 0.5, 0.5, 2 and 0, 1, 2.
  EXPECT_NEAR(ComputeAgreement(std::vector<double>{1, 1, 2}, std::vector<double>{1, 2, 3}).spearman,
              std::sqrt(3.0) / 2, 1e-12);
}

TEST(Agreement, RefusesWhatCannotBeCompared) {
  EXPECT_THROW(ComputeAgreement({}, {}), Error);
  EXPECT_THROW(ComputeAgreement(std::vector<double>{1}, std::vector<double>{0}), Error);
}

StepLoad SmallLoad(bool sequences) {
  StepLoad load;
  for (const char* name : {"a", "b"}) {
    StepTable table{.name = name, .rows = 100, .dim = 8};
    table.rule = "adagrad";
    table.sequences = sequences;
    table.features.push_back({4, 10, ZipfRows(100, 1, name[0] == 'a')});
    load.tables.push_back(table);
  }
  load.dense_flops = {6.0 * 512 * 8 * 8};
  load.dense_bytes = 256;
  return load;
}

TEST(TimePlan, RunsPooledTablesAndSequences) {
  for (const bool sequences : {false, true})
    RunLocalRanks(2, [&](Communicator& comm) {
      Context ctx({.threads = 1});
      const StepLoad load = SmallLoad(sequences);
      const std::vector<TableShape> shapes = {{"a", 100, 8}, {"b", 100, 8}};
      const ShardingPlan plan = MakeShardingPlan(
          {2, 2}, shapes, {{"a", RowWise()}, {"b", sequences ? TableWise(1) : DataParallel()}});
      const PlanTime time = TimePlan(ctx, comm, load, plan, 0.001);
      ASSERT_EQ(time.phases.size(), 5u);
      double sum = 0;
      for (const double phase : time.phases) {
        EXPECT_GT(phase, 0);
        sum += phase;
      }
      EXPECT_GT(time.seconds, 0);
      EXPECT_GT(sum, 0);
    });
}

// Caches of half the rows, which would soon hold every row of the same few batches.
TEST(TimePlan, TablesOnDiskMissInTimedSteps) {
  RunLocalRanks(2, [&](Communicator& comm) {
    Context ctx({.threads = 1});
    StepLoad load = SmallLoad(false);
    for (StepTable& table : load.tables) {
      table.rows = 20'000;
      table.cache.load_factor = 0.5;
      table.features[0] = {64, 1'000, UniformRows(20'000)};
    }
    const std::vector<TableShape> shapes = {{"a", 20'000, 8}, {"b", 20'000, 8}};
    const ShardingPlan in_memory = MakeShardingPlan({2, 2}, shapes, RowWise());
    ShardingPlan on_disk = in_memory;
    for (auto& [name, sharding] : on_disk.tables) sharding.kernel = ComputeKernel::kKeyValue;
    EXPECT_EQ(TimePlan(ctx, comm, load, in_memory, 0.01).cache_misses, 0);
    // A step's 2,000 ids of a table are 1,903 rows, of which a cache lacks half.
    EXPECT_NEAR(TimePlan(ctx, comm, load, on_disk, 0.01).cache_misses, 2 * 1'903 * 0.5, 150);
  });
}

TEST(ValidatePlans, SetsPredictionsBesideMeasurements) {
  std::vector<std::vector<ValidatedPlan>> results(2);
  RunLocalRanks(2, [&](Communicator& comm) {
    Context ctx({.threads = 1});
    const std::vector<TableShape> shapes = {{"a", 100, 8}, {"b", 100, 8}};
    const StepModel model(testing::MadeUpProfile(), SmallLoad(false), {2, 2});
    int said = 0;
    results[static_cast<size_t>(comm.rank())] =
        ValidatePlans(ctx, comm, model,
                      {{"rows", MakeShardingPlan({2, 2}, shapes, RowWise())},
                       {"one", MakeShardingPlan({2, 2}, shapes, TableWise(1))}},
                      {.seconds = 0.001, .passes = 3, .progress = [&](const auto&, double done) {
                         EXPECT_NEAR(done, said++ / 6.0, 1e-9);
                       }});
    EXPECT_EQ(said, IsLeader(comm) ? 6 : 0);
  });
  ASSERT_EQ(results[0].size(), 2u);
  EXPECT_EQ(results[0][1].name, "one");
  EXPECT_EQ(results[0][1].predicted.busiest, 1);
  EXPECT_EQ(results[0][1].measured.seconds, results[1][1].measured.seconds);
  EXPECT_LE(ComputeAgreement(results[0]).spearman, 1);
}

TEST(TimePlan, RefusesWeights) {
  RunLocalRanks(1, [&](Communicator& comm) {
    Context ctx({.threads = 1});
    StepLoad load = SmallLoad(false);
    load.tables[0].weighted = true;
    const std::vector<TableShape> shapes = {{"a", 100, 8}, {"b", 100, 8}};
    EXPECT_THROW(TimePlan(ctx, comm, load, MakeShardingPlan({1, 1}, shapes, TableWise(0)), 0.001),
                 Error);
  });
}

}  // namespace
}  // namespace tessera
