#include "planner/model/placement_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "planner/model/planner_error.h"
#include "planner/plan_conversion.h"
#include "tests/planner/small_model.h"

namespace tessera {
namespace {

using ::testing::HasSubstr;

std::vector<std::pair<int64_t, int64_t>> Shapes(int tables) {
  std::vector<std::pair<int64_t, int64_t>> shapes;
  for (int t = 0; t < tables; ++t) shapes.emplace_back(20'000 + 7'000 * t, 16 << t % 4);
  return shapes;
}

struct RulesTest : public ::testing::Test {
  PlannerModel model = ModelOf(Shapes(12));
  Topology topology = GpuTopology(4, 2);

  PlanResult Plan(const PlacementRules& rules) {
    PlanResult plan = EmbeddingShardingPlanner(topology, model, {.rules = rules}).Plan();
    ExpectSound(topology, model, plan);
    return plan;
  }
  std::string ErrorOf(const PlacementRules& rules) {
    try {
      Plan(rules);
    } catch (const PlannerError& error) {
      EXPECT_EQ(error.kind(), PlannerErrorKind::kPlacementRules);
      return error.what();
    }
    return "no error";
  }
  std::vector<int> RanksOf(const PlanResult& plan, const std::string& name) {
    for (const PlacedOption& placed : plan.tables)
      if (model.tables[static_cast<size_t>(placed.option.table)].name == name) return placed.ranks;
    return {};
  }
};

TEST_F(RulesTest, TogetherIsOnTheSameRanks) {
  const PlanResult plan = Plan({.together = {{"t0", "ebc.t7", "t3"}, {"t1", "t2"}}});
  EXPECT_EQ(RanksOf(plan, "t0"), RanksOf(plan, "t7"));
  EXPECT_EQ(RanksOf(plan, "t0"), RanksOf(plan, "t3"));
  EXPECT_EQ(RanksOf(plan, "t1"), RanksOf(plan, "t2"));
}

TEST_F(RulesTest, ApartSharesNoRank) {
  const PlanResult plan = Plan({.apart = {{"t9", "t10", "t11"}}});
  std::set<int> seen;
  size_t shards = 0;
  for (const char* name : {"t9", "t10", "t11"}) {
    const std::vector<int> ranks = RanksOf(plan, name);
    const std::set<int> own(ranks.begin(), ranks.end());
    seen.insert(own.begin(), own.end());
    shards += own.size();
  }
  EXPECT_EQ(seen.size(), shards);
}

// Whatever would be cheapest for each table alone.
TEST_F(RulesTest, ApartFindsRoomForEach) {
  model = ModelOf({{1'000'000, 16}, {1'000'000, 16}, {1'000'000, 16}});
  for (const char* name : {"t0", "t1", "t2"}) model.constraints[name].pooling_factors = {20.0};
  topology = GpuTopology(2, 2);
  const PlanResult two = Plan({.apart = {{"t0", "t1"}}});
  EXPECT_NE(RanksOf(two, "t0"), RanksOf(two, "t1"));
  topology = GpuTopology(4, 2);
  std::set<std::vector<int>> places;
  const PlanResult three = Plan({.apart = {{"t0", "t1", "t2"}}});
  for (const char* name : {"t0", "t1", "t2"}) places.insert(RanksOf(three, name));
  EXPECT_EQ(places.size(), 3u);
}

TEST_F(RulesTest, ACapLeavesARankEmpty) {
  // Rank 2 has no memory at all, so nothing lies on it, nor on all ranks.
  const PlanResult plan = Plan({.rank_caps = {{.rank = 2, .hbm = 0}}});
  EXPECT_EQ(plan.rank_storage[2], Storage{});
}

// A rank's memory is that of tables, the dense part and batches, and so is its cap.
TEST_F(RulesTest, ACapHoldsAllThatARankHas) {
  model.dense_parameter_bytes = 1'000'000;
  const PlanResult free = Plan({});
  const int64_t others = free.reserved.dense_bytes + free.reserved.kjt_bytes,
                all = free.rank_storage[2].hbm + others;
  ASSERT_GT(others, 6'000'000);
  const auto under = [&](int64_t cap) {
    return Plan({.rank_caps = {{.rank = 2, .hbm = cap}}}).rank_storage[2].hbm + others;
  };
  EXPECT_LE(under(all), all);
  EXPECT_GT(under(all), others);
  EXPECT_LE(under(all - 1), all - 1);
  EXPECT_EQ(under(others), others) << "no tables";
  EXPECT_EQ(under(0), others) << "no tables";
  EXPECT_THAT(ErrorOf({.rank_caps = {{.rank = 2, .hbm = others - 1}}}),
              HasSubstr(Format("rank 2: expected hbm of at least the {} bytes that the dense part "
                               "and batches take there, or 0 for no tables, got {}",
                               others, others - 1)));
}

TEST_F(RulesTest, ReplanningMovesNoMoreThanAllowed) {
  const PlanResult before = Plan({});
  PlacementRules rules;
  rules.existing = ToShardingPlan(topology, model, before.tables);
  rules.most_moved_bytes = 0;
  // With other traffic, the tables that were balanced no longer are.
  for (int t = 0; t < 6; ++t) model.constraints["t" + std::to_string(t)].pooling_factors = {40.0};
  const PlanResult fixed = Plan(rules);
  EXPECT_EQ(fixed.moved_bytes, 0);
  rules.most_moved_bytes = 4'000'000;
  const PlanResult some = Plan(rules);
  EXPECT_LE(some.moved_bytes, 4'000'000);
  rules.most_moved_bytes.reset();
  const PlanResult all = Plan(rules);
  EXPECT_LE(some.rating, fixed.rating);
  EXPECT_LE(all.rating, some.rating * 1.05);
  EXPECT_LT(all.rating, fixed.rating);
  EXPECT_GT(all.moved_bytes, 0);
}

TEST_F(RulesTest, ATableIsWhereItIsByWhateverName) {
  PlacementRules rules;
  rules.existing = ToShardingPlan(topology, model, Plan({}).tables);
  rules.most_moved_bytes = 0;
  int renamed = 0;
  for (auto& [name, sharding] : rules.existing->tables) {
    if (sharding.type != ShardingType::kTableWise) continue;
    sharding.type = ShardingType::kColumnWise;
    ++renamed;
  }
  ASSERT_GT(renamed, 0);
  const PlanResult plan = Plan(rules);
  EXPECT_EQ(plan.moved_bytes, 0);
  const ShardingPlan again = ToShardingPlan(topology, model, plan.tables);
  for (const auto& [name, sharding] : again.tables)
    EXPECT_EQ(sharding.shards, rules.existing->tables.at(name).shards) << name;
}

TEST_F(RulesTest, TablesWhosePlaceIsNoLongerAllowedAreNamed) {
  PlacementRules rules;
  rules.existing = ToShardingPlan(topology, model, Plan({}).tables);
  rules.most_moved_bytes = 0;
  model.constraints["t0"].sharding_types = {
      rules.existing->tables.at("t0").type == ShardingType::kRowWise ? ShardingType::kTableWise
                                                                     : ShardingType::kRowWise};
  EXPECT_THAT(ErrorOf(rules), HasSubstr("constraints no longer allow: t0"));
}

TEST_F(RulesTest, NewTablesMoveNothing) {
  PlacementRules rules;
  rules.existing = ToShardingPlan(topology, model, Plan({}).tables);
  rules.most_moved_bytes = 0;
  model = ModelOf(Shapes(14));
  EXPECT_EQ(Plan(rules).moved_bytes, 0);
}

TEST_F(RulesTest, ContradictionsAreNamed) {
  EXPECT_THAT(ErrorOf({.together = {{"t0", "x"}}}), HasSubstr("there is no table x"));
  EXPECT_THAT(ErrorOf({.together = {{"t0", "t1"}, {"t1", "t2"}}}),
              HasSubstr("table t1 is named twice"));
  EXPECT_THAT(ErrorOf({.together = {{"t0", "t1"}}, .apart = {{"t0", "t1"}}}),
              HasSubstr("is to stay together"));
  EXPECT_THAT(ErrorOf({.apart = {{"t0", "t1", "t2", "t3", "t4"}}}),
              HasSubstr("apart: 5 tables (t0, t1, t2, t3, t4) cannot lie apart on 4 ranks"));
  EXPECT_THAT(ErrorOf({.rank_caps = {{.rank = 9}}}), HasSubstr("there are ranks 0 to 3, got 9"));
  EXPECT_THAT(ErrorOf({.rank_caps = {{.rank = 1}}}), HasSubstr("rank 1: expected hbm or ddr"));
  EXPECT_THAT(ErrorOf({.rank_caps = {{.rank = 1, .hbm = -5}}}), HasSubstr("at least 0, got -5"));
  EXPECT_THAT(ErrorOf({.rank_caps = {{.rank = 1, .hbm = 5}, {.rank = 1, .ddr = 5}}}),
              HasSubstr("rank 1 comes twice"));
  ShardingPlan other;
  other.world_size = 8;
  EXPECT_THAT(ErrorOf({.existing = other}), HasSubstr("is for 8 ranks, the topology has 4"));
  model.constraints["t0"].sharding_types = {ShardingType::kRowWise};
  EXPECT_THAT(ErrorOf({.apart = {{"t0", "t1"}}}), HasSubstr("can only lie on all ranks"));
}

}  // namespace
}  // namespace tessera
