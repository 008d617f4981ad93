#include "planner/plan_diff.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "planner/plan_conversion.h"
#include "runtime/base/check.h"
#include "tests/planner/small_model.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TableSharding Whole(int rank, int64_t rows, int64_t columns) {
  return {.shards = {{.rank = rank, .rows = rows, .columns = columns}}};
}

// Equal blocks of rows, one a rank.
TableSharding ByRows(int ranks, int64_t rows, int64_t columns) {
  TableSharding sharding{.type = ShardingType::kRowWise, .shards = {}};
  for (int r = 0; r < ranks; ++r)
    sharding.shards.push_back(
        {.rank = r, .row_offset = r * rows / ranks, .rows = rows / ranks, .columns = columns});
  return sharding;
}

ShardingPlan PlanOf(int ranks, std::map<std::string, TableSharding> tables) {
  return {.world_size = ranks, .local_size = ranks, .tables = std::move(tables)};
}

template <typename Fn>
std::string ErrorOf(const Fn& fn) {
  try {
    fn();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(PlanDiffTest, CountsBytesAsThePlannerDoes) {
  PlannerModel model = ModelOf({{20'000, 16}, {40'000, 32}, {60'000, 64}, {90'000, 16}});
  const Topology topology = GpuTopology(4, 4);
  PlacementRules rules;
  rules.existing =
      ToShardingPlan(topology, model, EmbeddingShardingPlanner(topology, model).Plan().tables);
  model.constraints["t3"].pooling_factors = {40.0};
  model.constraints["t0"].pooling_factors = {70.0};
  const PlanResult after = EmbeddingShardingPlanner(topology, model, {.rules = rules}).Plan();
  ASSERT_GT(after.moved_bytes, 0);
  const PlanDiff diff =
      DiffPlans(model, *rules.existing, ToShardingPlan(topology, model, after.tables));
  EXPECT_EQ(diff.moved_bytes, after.moved_bytes);
  EXPECT_EQ(diff.same + std::ssize(diff.changes), 4);
}

TEST(PlanDiffTest, MoreRanksGetWhatTheyDoNotHoldYet) {
  PlannerModel model = ModelOf({{8, 4}, {10, 2}});
  model.tables[1].dtype = RowDType::kFp16;
  const ShardingPlan two = PlanOf(2, {{"t0", ByRows(2, 8, 4)}, {"t1", Whole(1, 10, 2)}}),
                     four = PlanOf(4, {{"t0", ByRows(4, 8, 4)}, {"t1", Whole(3, 10, 2)}});
  const PlanDiff grown = DiffPlans(model, two, four);
  ASSERT_EQ(grown.changes.size(), 2u);
  // Rank 0 keeps the half of its rows; of the others', rank 1 has none of rows 2 and 3.
  EXPECT_EQ(grown.changes[0].table, "t0");
  EXPECT_EQ(grown.changes[0].moved_bytes, 6 * 4 * 4);
  EXPECT_EQ(grown.changes[1].moved_bytes, 10 * 2 * 2);
  EXPECT_EQ(grown.moved_bytes, 96 + 40);
  // And back: ranks 0 and 1 lack two and four rows.
  EXPECT_EQ(DiffPlans(model, four, two).changes[0].moved_bytes, 6 * 4 * 4);
}

TEST(PlanDiffTest, TellsKindsOfChangesApart) {
  const PlannerModel model = ModelOf({{10, 2}, {10, 2}, {10, 2}, {10, 2}, {10, 2}, {1000, 2}});
  TableSharding renamed = Whole(1, 10, 2), cached = Whole(1, 10, 2);
  renamed.type = ShardingType::kColumnWise;
  cached.kernel = ComputeKernel::kFusedUvmCaching;
  const ShardingPlan before = PlanOf(2, {{"t0", Whole(0, 10, 2)},
                                         {"t1", Whole(1, 10, 2)},
                                         {"t2", Whole(1, 10, 2)},
                                         {"t3", Whole(0, 10, 2)},
                                         {"t5", Whole(0, 1000, 2)}}),
                     after = PlanOf(2, {{"t0", Whole(0, 10, 2)},
                                        {"t1", renamed},
                                        {"t2", cached},
                                        {"t4", Whole(1, 10, 2)},
                                        {"t5", Whole(1, 1000, 2)}});
  const PlanDiff diff = DiffPlans(model, before, after);
  std::vector<std::string> rows;
  for (const TableChange& change : diff.changes)
    rows.push_back(change.table + " " + ToString(change.kind()));
  EXPECT_THAT(rows, ElementsAre("t5 moved", "t1 in_place", "t2 in_place", "t3 gone", "t4 new"));
  EXPECT_EQ(diff.same, 1);
  EXPECT_EQ(diff.moved_bytes, 1000 * 2 * 4);
  EXPECT_EQ(diff.CountOf(TableChangeKind::kInPlace), 2);
  EXPECT_FALSE(diff.changes[4].before.has_value());
  EXPECT_FALSE(diff.changes[3].after.has_value());
}

TEST(PlanDiffTest, EqualPlansHaveNoChanges) {
  const PlannerModel model = ModelOf({{8, 4}});
  const ShardingPlan plan = PlanOf(4, {{"t0", ByRows(4, 8, 4)}});
  const PlanDiff diff = DiffPlans(model, plan, plan);
  EXPECT_TRUE(diff.changes.empty());
  EXPECT_EQ(diff.same, 1);
  EXPECT_EQ(diff.moved_bytes, 0);
}

TEST(PlanDiffTest, ATableWithoutBytesIsNamed) {
  const PlannerModel model = ModelOf({{8, 4}});
  const ShardingPlan before = PlanOf(2, {{"x", Whole(0, 8, 4)}}),
                     after = PlanOf(2, {{"x", Whole(1, 8, 4)}});
  EXPECT_EQ(DiffPlans(model, before, before).same, 1);
  EXPECT_THAT(ErrorOf([&] { DiffPlans(model, before, after); }), HasSubstr("table x: "));
  PlannerModel twice = model;
  twice.modules.push_back({.path = "other"});
  twice.tables.push_back({.name = "t0", .module = 1, .rows = 8, .dim = 4});
  EXPECT_THAT(ErrorOf([&] { DiffPlans(twice, before, before); }), HasSubstr("in two modules"));
}

TEST(PlanDiffTest, ChecksEachTableOfAPlan) {
  const PlannerModel model = ModelOf({{8, 4}});
  CheckTables(model, PlanOf(2, {{"t0", ByRows(2, 8, 4)}, {"x", ByRows(2, 600, 3)}}));
  const auto error = [&](TableSharding sharding, const std::string& name) {
    return ErrorOf([&] { CheckTables(model, PlanOf(2, {{name, std::move(sharding)}})); });
  };
  EXPECT_THAT(error(ByRows(2, 6, 4), "t0"), HasSubstr("gap"));
  EXPECT_THAT(error(Whole(2, 8, 4), "t0"), HasSubstr("there are ranks 0 to 1"));
  TableSharding gap = ByRows(2, 600, 3);
  gap.shards[0].rows = 299;
  EXPECT_THAT(error(gap, "x"), HasSubstr("gap"));
  TableSharding endless = Whole(0, INT64_MAX, 4);
  endless.shards[0].row_offset = INT64_MAX;
  EXPECT_THAT(error(endless, "x"), HasSubstr("not inside"));
}

TEST(PlanDiffTest, TakesTheTablesThatModelAndPlanShare) {
  PlannerModel model = ModelOf({{8, 4}, {9, 4}});
  model.constraints["t0"].pooling_factors = {2.0};
  model.constraints["t1"].pooling_factors = {3.0};
  const ShardingPlan plan = PlanOf(2, {{"t1", Whole(0, 9, 4)}, {"x", Whole(1, 5, 4)}});
  const PlannedTables both = TablesInBoth(model, plan);
  ASSERT_EQ(both.model.tables.size(), 1u);
  EXPECT_EQ(both.model.tables[0].name, "t1");
  EXPECT_EQ(both.model.constraints.size(), 1u);
  EXPECT_EQ(both.plan.tables.size(), 1u);
  CheckModel(both.model);
}

}  // namespace
}  // namespace tessera
