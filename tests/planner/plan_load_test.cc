#include "planner/plan_load.h"

#include <gtest/gtest.h>

#include "planner/cost_models.h"
#include "planner/model/planner_error.h"
#include "planner/plan_conversion.h"
#include "tests/planner/small_model.h"
#include "tests/planner/testing/made_up_profile.h"

namespace tessera {
namespace {

PlannerModel Model() {
  PlannerModel model = ModelOf({{20'000, 16}, {40'000, 32}, {60'000, 64}, {900, 16}});
  model.dense_parameter_bytes = 1 << 20;
  for (PlannerTable& table : model.tables) table.features = {"f" + table.name};
  return model;
}

PlannerOptions Calibrated(const Topology& topology, const PlannerModel& model) {
  PlannerOptions options;
  options.option_rules = OptionRules::kBuild;
  options.perf =
      std::make_shared<CalibratedPerfEstimator>(testing::MadeUpProfile(), topology, model);
  options.storage = std::make_shared<CalibratedStorageEstimator>(topology, model);
  return options;
}

// Whether the planner made the plan or a file has it, its load is one.
void ExpectSame(const PlanLoad& made, const PlanLoad& read) {
  EXPECT_DOUBLE_EQ(made.step_ms, read.step_ms);
  EXPECT_EQ(made.busiest_rank, read.busiest_rank);
  EXPECT_DOUBLE_EQ(made.compute_ms, read.compute_ms);
  EXPECT_DOUBLE_EQ(made.exchange_ms, read.exchange_ms);
  ASSERT_EQ(made.stats.ranks.size(), read.stats.ranks.size());
  for (size_t r = 0; r < made.stats.ranks.size(); ++r) {
    EXPECT_EQ(made.stats.ranks[r].hbm, read.stats.ranks[r].hbm);
    EXPECT_EQ(made.stats.ranks[r].ddr, read.stats.ranks[r].ddr);
  }
}

TEST(PlanLoadTest, APlanThatWasReadIsPricedAsThePlannerDid) {
  const Topology topology = GpuTopology(4, 2);
  const PlannerModel model = Model();
  const EmbeddingShardingPlanner planner(topology, model, {.option_rules = OptionRules::kBuild});
  const PlanResult plan = planner.Plan();
  const PlanLoad made = LoadOfPlan(planner, plan);
  EXPECT_DOUBLE_EQ(made.step_ms, plan.rating);
  EXPECT_FALSE(made.whole_step);
  ExpectSame(made, LoadOfPlan(planner, ToShardingPlan(topology, model, plan.tables)));
  const RankStats& fullest = made.stats.ranks[static_cast<size_t>(FullestHbmRank(made.stats))];
  for (const RankStats& rank : made.stats.ranks) EXPECT_LE(rank.hbm, fullest.hbm);
  EXPECT_GT(fullest.hbm, int64_t{6} << 20);  // of which are six copies of the dense part
}

TEST(PlanLoadTest, AMeasuredMachinePredictsTheWholeStep) {
  Topology topology = GpuTopology(4, 4);
  topology.compute_device = ComputeDevice::kCpu;
  const PlannerModel model = Model();
  const EmbeddingShardingPlanner planner(topology, model, Calibrated(topology, model));
  const PlanResult plan = planner.Plan();
  const ShardingPlan sharding = ToShardingPlan(topology, model, plan.tables);
  const PlanLoad load = LoadOfPlan(planner, sharding);
  EXPECT_TRUE(load.whole_step);
  const StepPrediction step = StepModelOf(planner.options())->Predict(sharding);
  EXPECT_DOUBLE_EQ(load.step_ms, 1e3 * step.seconds);
  EXPECT_EQ(load.busiest_rank, step.busiest);
  ExpectSame(LoadOfPlan(planner, plan), load);
  const double busiest = 1e3 * step.ranks[static_cast<size_t>(step.busiest)].total();
  EXPECT_NEAR(load.compute_ms + load.exchange_ms, busiest, 1e-9);
}

TEST(PlanLoadTest, SaysWhatTheBusiestRankDoesMost) {
  PlanLoad load;
  load.compute_ms = 1;
  load.exchange_ms = 3;
  EXPECT_EQ(load.bound_by(), "exchange");
  EXPECT_DOUBLE_EQ(load.bound_share(), 0.75);
  load.compute_ms = 4;
  EXPECT_EQ(load.bound_by(), "compute");
  load.prefetch_ms = 8;
  EXPECT_EQ(load.bound_by(), "prefetch");
  EXPECT_EQ(PlanLoad().bound_share(), 0);
}

TEST(PlanLoadTest, AKernelThatTheDeviceLacksIsAnError) {
  Topology topology = GpuTopology(2, 2);
  const PlannerModel model = ModelOf({{100, 16}});
  const EmbeddingShardingPlanner gpu(topology, model);
  ShardingPlan plan = ToShardingPlan(topology, model, gpu.Plan().tables);
  plan.tables.at("t0").kernel = ComputeKernel::kFusedUvmCaching;
  EXPECT_GT(LoadOfPlan(gpu, plan).step_ms, 0);
  topology.compute_device = ComputeDevice::kCpu;
  EXPECT_THROW(LoadOfPlan(EmbeddingShardingPlanner(topology, model), plan), PlannerError);
}

}  // namespace
}  // namespace tessera
