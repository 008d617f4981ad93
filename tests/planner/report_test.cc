// The outputs of a plan: the plan that sharding/ runs, the report, the explanation.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "planner/explain.h"
#include "planner/plan_conversion.h"
#include "planner/stats.h"
#include "runtime/base/check.h"
#include "tests/planner/small_model.h"

namespace tessera {
namespace {

using ::testing::HasSubstr;

PlannerModel Mixed() {
  PlannerModel model =
      ModelOf({{1'000'000, 128}, {500'000, 64}, {2'000'000, 256}, {1000, 16}, {300'000, 32}});
  model.constraints["t2"].sharding_types = {ShardingType::kGridShard};
  model.constraints["t0"].sharding_types = {ShardingType::kTableRowWise};
  model.constraints["t1"].sharding_types = {ShardingType::kDataParallel};
  return model;
}

TEST(ReportTest, AnyPlanIsOneThatShardingTakes) {
  const Topology topology = GpuTopology(8, 4);
  const PlannerModel model = Mixed();
  const PlanResult plan = EmbeddingShardingPlanner(topology, model).Plan();
  ExpectSound(topology, model, plan);
  const ShardingPlan sharding = ToShardingPlan(topology, model, plan.tables);  // checks it
  EXPECT_EQ(sharding.world_size, 8);
  EXPECT_EQ(sharding.local_size, 4);
  EXPECT_EQ(sharding.tables.at("t2").type, ShardingType::kGridShard);
  EXPECT_EQ(sharding.tables.at("t2").shards.size(), 8u);
  EXPECT_EQ(sharding.tables.at("t1").kernel, ComputeKernel::kDense);
}

TEST(ReportTest, AKernelThatThisBuildLacksIsAnError) {
  const Topology topology = GpuTopology(2, 2);
  PlannerModel model = ModelOf({{100, 16}});
  model.constraints["t0"].compute_kernels = {PlanKernel::kDramVirtualTable};
  model.constraints["t0"].sharding_types = {ShardingType::kTableWise};
  const PlanResult plan = EmbeddingShardingPlanner(topology, model).Plan();
  EXPECT_THROW(ToShardingPlan(topology, model, plan.tables), Error);
}

TEST(ReportTest, StatsAddUp) {
  const Topology topology = GpuTopology(8, 4);
  const PlannerModel model = Mixed();
  const PlanResult plan = EmbeddingShardingPlanner(topology, model).Plan();
  const PlanStats stats = ComputeStats(topology, model, plan.tables, plan.reserved);
  EXPECT_DOUBLE_EQ(stats.max_perf, plan.max_rank_perf);
  int64_t tables = 0, hbm = 0;
  for (const auto& [kernel, s] : stats.kernels) tables += s.tables;
  EXPECT_EQ(tables, 5);
  for (size_t r = 0; r < stats.ranks.size(); ++r) {
    EXPECT_EQ(stats.ranks[r].sparse_hbm, plan.rank_storage[r].hbm);
    hbm += stats.ranks[r].sparse_hbm;
  }
  EXPECT_EQ(hbm, [&] {
    Storage sum;
    for (const PlacedOption& placed : plan.tables) sum += placed.option.total_storage();
    return sum.hbm;
  }());
  EXPECT_GE(stats.sum_of_maxima, stats.max_perf * (1 - 1e-12));
  const std::string text = StatsText(topology, model, plan, stats);
  EXPECT_THAT(text, HasSubstr("5 tables on 8 ranks, 4 a node (cuda)"));
  EXPECT_THAT(text, HasSubstr("HBM GiB"));
  EXPECT_THAT(text, HasSubstr("ebc.t2"));
  EXPECT_THAT(text, HasSubstr("no plan is"));
}

// The planner doesn't know how often an id comes again: it says that distinct ids aren't priced.
TEST(ReportTest, SequencesArePricedWithoutDistinctIds) {
  const Topology topology = GpuTopology(2, 2);
  PlannerModel model = ModelOf({{1000, 16}});
  const auto text = [&] {
    const PlanResult plan = EmbeddingShardingPlanner(topology, model).Plan();
    return StatsText(topology, model, plan,
                     ComputeStats(topology, model, plan.tables, plan.reserved));
  };
  EXPECT_THAT(text(), ::testing::Not(HasSubstr("distinct ids")));
  model.modules[0].kind = ModuleKind::kEc;
  EXPECT_THAT(text(), HasSubstr("rows of sequences are priced for each id"));
}

// Explains the plan of one large table and two small ones, in which these rules allow no change of
// the large one.
PlanExplanation ExplainedUnder(const PlacementRules& rules, double* rating) {
  const PlannerModel model = ModelOf({{3'000'000, 128}, {5'000, 64}, {6'000, 64}});
  const EmbeddingShardingPlanner planner(GpuTopology(3, 3), model, {.rules = rules});
  const PlanResult plan = planner.Plan();
  *rating = plan.rating;
  return Explain(planner, plan);
}

TEST(ReportTest, RunnersUpObeyTheRules) {
  double rating = 0;
  const auto expect_no_better = [&](const PlanExplanation& e) {
    for (const TableExplanation& t : e.tables) {
      if (!t.runner_up) continue;
      EXPECT_GE(t.runner_up->rating, rating * (1 - 1e-9)) << t.table;
    }
  };
  const PlanExplanation capped = ExplainedUnder(
      {.rank_caps = {{.rank = 1, .hbm = 0, .ddr = 0}, {.rank = 2, .hbm = 0, .ddr = 0}}}, &rating);
  expect_no_better(capped);
  const PlanExplanation apart = ExplainedUnder({.apart = {{"t0", "t1", "t2"}}}, &rating);
  expect_no_better(apart);
  const PlanExplanation together = ExplainedUnder({.together = {{"t1", "t2"}}}, &rating);
  EXPECT_LT(together.tables[1].num_options, capped.tables[1].num_options);
}

// Two tables on two ranks: apart from each other, neither finds another place.
TEST(ReportTest, TheRuleThatLeavesNoRoomIsNamed) {
  PlannerModel model = ModelOf({{1000, 64}, {1000, 64}});
  for (const char* name : {"t0", "t1"})
    model.constraints[name].compute_kernels = {PlanKernel::kFused};
  const EmbeddingShardingPlanner planner(GpuTopology(2, 2), model,
                                         {.rules = {.apart = {{"t0", "t1"}}}});
  const PlanResult plan = planner.Plan();
  const PlanExplanation e = Explain(planner, plan);
  ASSERT_FALSE(e.tables[0].runner_up.has_value());
  EXPECT_THAT(ExplanationText(e, plan),
              HasSubstr("options that finds room under the rule \"apart\""));
}

TEST(ReportTest, WhereANodeRatesItIsNamed) {
  const PlannerModel model = ModelOf({{100'000, 64}, {100'000, 64}, {100'000, 64}});
  Topology topology = GpuTopology(4, 4);
  topology.cores_per_node = 1;
  const EmbeddingShardingPlanner planner(topology, model);
  const PlanResult plan = planner.Plan();
  ASSERT_TRUE(plan.rated_by_node);
  EXPECT_THAT(
      StatsText(topology, model, plan, ComputeStats(topology, model, plan.tables, plan.reserved)),
      HasSubstr("busiest node "));
}

TEST(ReportTest, AnExplanationNamesRunnerUpAndBottleneck) {
  const Topology topology = GpuTopology(4, 4);
  const PlannerModel model = ModelOf({{1'000'000, 128}, {500'000, 64}, {3'000'000, 64}});
  const EmbeddingShardingPlanner planner(topology, model);
  const PlanResult plan = planner.Plan();
  const PlanExplanation e = Explain(planner, plan);
  ASSERT_EQ(e.tables.size(), 3u);
  EXPECT_DOUBLE_EQ(e.bottleneck_perf, plan.max_rank_perf);
  ASSERT_FALSE(e.bottleneck_tables.empty());
  double sum = 0;
  for (const auto& [name, perf] : e.bottleneck_tables) sum += perf;
  EXPECT_NEAR(sum, plan.max_rank_perf, 1e-12);
  for (const TableExplanation& t : e.tables) {
    ASSERT_TRUE(t.runner_up.has_value());
    // The runner-up is one step away from a plan that no step improves.
    EXPECT_GE(t.runner_up->rating, plan.rating * (1 - 1e-9)) << t.table;
  }
  const std::string text = ExplanationText(e, plan);
  EXPECT_THAT(text, HasSubstr("is the busiest"));
  EXPECT_THAT(text, HasSubstr("ebc.t0: "));
}

}  // namespace
}  // namespace tessera
