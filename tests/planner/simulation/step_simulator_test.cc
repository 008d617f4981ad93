// Steps of few ranks by hand, the step model's sum where nothing varies, and what jitter costs as
// ranks are added.
#include "planner/simulation/step_simulator.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "runtime/base/check.h"
#include "tests/planner/testing/made_up_profile.h"

namespace tessera {
namespace {

TEST(SimulateSteps, FastRanksWaitForTheSlowestOfEachPhase) {
  std::vector<RankSeconds> ranks(2);
  ranks[0].lookup = 3, ranks[1].lookup = 1;
  ranks[0].dense = 1, ranks[1].dense = 2;
  for (RankSeconds& r : ranks) r.rows_wire = r.dense_wire = 0.5;
  const SimulatedSteps steps = SimulateSteps(ranks, {.steps = 4, .local_size = 2});
  EXPECT_DOUBLE_EQ(steps.mean, 3 + 0.5 + 2 + 0.5);
  EXPECT_DOUBLE_EQ(steps.p99, steps.mean);
  EXPECT_DOUBLE_EQ(steps.working, (4.0 + 3.0) / 12);
  EXPECT_DOUBLE_EQ(steps.waiting, (1.0 + 2.0) / 12);
  EXPECT_DOUBLE_EQ(steps.exchanging, 2.0 / 12);
}

TEST(SimulateSteps, ASlowRankHoldsAllUp) {
  std::vector<RankSeconds> ranks(4);
  for (RankSeconds& r : ranks) r.lookup = 1, r.rows_wire = 0.25;
  EXPECT_DOUBLE_EQ(SimulateSteps(ranks, {.local_size = 2}).mean, 1.25);
  EXPECT_DOUBLE_EQ(SimulateSteps(ranks, {.local_size = 2, .slow_rank = 3}).mean, 3.25);
}

TEST(SimulateSteps, ANodeSharesItsCores) {
  std::vector<RankSeconds> ranks(4);
  for (RankSeconds& r : ranks) r.lookup = 1, r.rows_wire = 0.25;
  EXPECT_DOUBLE_EQ(SimulateSteps(ranks, {.local_size = 2, .cores = 1}).mean, 2.25);
  EXPECT_DOUBLE_EQ(SimulateSteps(ranks, {.local_size = 2, .cores = 4, .threads = 2}).mean, 1.25);
}

// Two nodes of two. Where rows return by node, a place meets its like once its own node is done:
// the slow rank of node 0 delays place 0 and 1 of both, but no rank twice.
TEST(SimulateSteps, RowsByNodeMeetInsideThenBetween) {
  std::vector<RankSeconds> ranks(4);
  for (RankSeconds& r : ranks) {
    r.lookup = 1;
    r.rows_by_node = {0.5, 2};
    r.rows_wire = 2.5;
  }
  ranks[0].lookup = 2;
  EXPECT_DOUBLE_EQ(SimulateSteps(ranks, {.steps = 1, .local_size = 2}).mean, 2 + 0.5 + 2);
  // Gradients cross first; inside node 1 nobody waits for node 0's links.
  for (RankSeconds& r : ranks) {
    r = {};
    r.dense = 1;
    r.gradients_by_node = {0.5, 2};
    r.gradients_wire = 2.5;
  }
  ranks[0].gradients_by_node.between = 4, ranks[0].gradients_wire = 4.5;
  EXPECT_DOUBLE_EQ(SimulateSteps(ranks, {.steps = 1, .local_size = 2}).mean, 1 + 4 + 0.5);
}

StepLoad SmallLoad() {
  StepLoad load;
  for (const char* name : {"a", "b", "c"}) {
    StepTable table{.name = name, .rows = 100'000, .dim = 64, .rule = "rowwise_adagrad"};
    table.features.push_back({512, 4096, UniformRows(100'000)});
    load.tables.push_back(table);
  }
  load.dense_flops = {1e7};
  load.dense_bytes = 1e5;
  return load;
}

TEST(SimulateSteps, TakesWhatTheModelPredictsWhereRanksAreAlike) {
  const StepModel model(testing::MadeUpProfile(), SmallLoad(), {4, 4});
  const std::map<std::string, TableSharder> by_rows = {
      {"a", RowWise()}, {"b", RowWise()}, {"c", RowWise()}};
  const StepPrediction step =
      model.Predict(MakeShardingPlan({4, 4}, ShapesOf(model.load()), by_rows));
  EXPECT_NEAR(SimulateSteps(step.ranks, SimulationOf(model)).mean, step.seconds,
              1e-6 * step.seconds);
}

TEST(SimulateSteps, NeverFasterThanTheBusiestRankNorSlowerThanTheModel) {
  const StepModel model(testing::MadeUpProfile(), SmallLoad(), {4, 4});
  const std::map<std::string, TableSharder> uneven = {
      {"a", TableWise(2)}, {"b", TableWise(2)}, {"c", TableWise(1)}};
  const StepPrediction step =
      model.Predict(MakeShardingPlan({4, 4}, ShapesOf(model.load()), uneven));
  const double simulated = SimulateSteps(step.ranks, SimulationOf(model)).mean;
  EXPECT_LE(simulated, step.seconds * (1 + 1e-9));
  EXPECT_GE(simulated, step.ranks[static_cast<size_t>(step.busiest)].work());
}

// The largest of R numbers grows with R.
TEST(SimulateSteps, JitterCostsMoreAmongMoreRanks) {
  double before = 1.25;
  for (const size_t count : {4, 64, 1024}) {
    std::vector<RankSeconds> ranks(count);
    for (RankSeconds& r : ranks) r.lookup = 1, r.rows_wire = 0.25;
    const SimulationOptions options = {.steps = 50, .local_size = 4, .jitter = 0.1};
    const SimulatedSteps steps = SimulateSteps(ranks, options);
    EXPECT_GT(steps.mean, before + 0.05);
    EXPECT_LT(steps.mean, 1.25 + 0.1 * std::sqrt(2 * std::log(count)) + 0.1);
    EXPECT_LT(steps.p50, steps.p99);
    EXPECT_EQ(SimulateSteps(ranks, options).mean, steps.mean);
    before = steps.mean;
  }
}

TEST(SimulateSteps, RefusesWhatItCannotPlay) {
  const std::vector<RankSeconds> ranks(4);
  EXPECT_THROW(SimulateSteps({}, {}), Error);
  EXPECT_THROW(SimulateSteps(ranks, {.steps = 0}), Error);
  EXPECT_THROW(SimulateSteps(ranks, {.local_size = 3}), Error);
  EXPECT_THROW(SimulateSteps(ranks, {.jitter = -1}), Error);
  EXPECT_THROW(SimulateSteps(ranks, {.slow_rank = 0}), Error);
}

}  // namespace
}  // namespace tessera
