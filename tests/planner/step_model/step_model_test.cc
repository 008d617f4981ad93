#include "planner/step_model/step_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "planner/step_model/tier_moves.h"
#include "runtime/base/check.h"
#include "tests/planner/testing/made_up_profile.h"

namespace tessera {
namespace {

using ::testing::HasSubstr;
using testing::MadeUpProfile;

StepLoad SmallLoad() {
  StepLoad load;
  for (const char* name : {"a", "b", "c"}) {
    StepTable table{.name = name, .rows = 100'000, .dim = 64};
    table.rule = "rowwise_adagrad";
    table.features.push_back({512, 4096, UniformRows(100'000)});
    load.tables.push_back(table);
  }
  load.dense_flops = {1e7};
  load.dense_bytes = 1e5;
  return load;
}

std::vector<TableShape> Shapes(const StepLoad& load) {
  std::vector<TableShape> shapes;
  for (const StepTable& t : load.tables) shapes.push_back({t.name, t.rows, t.dim});
  return shapes;
}

StepPrediction Predict(const StepLoad& load, const std::map<std::string, TableSharder>& plan,
                       MachineProfile profile = MadeUpProfile(), RankLayout layout = {4, 4}) {
  const StepModel model(std::move(profile), load, layout);
  return model.Predict(MakeShardingPlan(layout, Shapes(load), plan));
}

const std::map<std::string, TableSharder> kDealt = {
    {"a", TableWise(0)}, {"b", TableWise(1)}, {"c", TableWise(2)}};
const std::map<std::string, TableSharder> kOnOne = {
    {"a", TableWise(2)}, {"b", TableWise(2)}, {"c", TableWise(2)}};

TEST(StepModel, NamesTheBusiestRank) {
  const StepPrediction step = Predict(SmallLoad(), kOnOne);
  EXPECT_EQ(step.busiest, 2);
  ASSERT_EQ(step.ranks.size(), 4u);
  EXPECT_GT(step.ranks[2].update, 0);
  EXPECT_EQ(step.ranks[0].update, 0);
  EXPECT_GT(step.ranks[0].output_dist, 0);
  EXPECT_LT(Predict(SmallLoad(), kDealt).seconds, step.seconds);
}

TEST(StepModel, TablesAndLayersSufferDifferentlyInAStep) {
  MachineProfile profile = MadeUpProfile();
  const RankSeconds before = Predict(SmallLoad(), kDealt, profile).ranks[0];
  profile.steps[1].dense_factor *= 2;
  const RankSeconds slow_layers = Predict(SmallLoad(), kDealt, profile).ranks[0];
  EXPECT_DOUBLE_EQ(slow_layers.dense, 2 * before.dense);
  EXPECT_EQ(slow_layers.lookup, before.lookup);
  profile.steps[1].factor *= 2;
  EXPECT_DOUBLE_EQ(Predict(SmallLoad(), kDealt, profile).ranks[0].lookup, 2 * before.lookup);
}

// Links between nodes a hundred times as slow as those inside them.
MachineProfile SlowBetweenNodes() {
  MachineProfile profile = MadeUpProfile();
  profile.cores = 0;
  for (CollectivePrices& c : profile.collectives) c.by_bytes.back().seconds *= 100;
  profile.collectives.push_back({CollectiveOp::kAllToAllInside, 2, {{4096, 1e-5}, {1e6, 1e-3}}});
  profile.collectives.push_back({CollectiveOp::kAllToAllBetween, 2, {{4096, 1e-5}, {1e6, 1e-1}}});
  return profile;
}

TEST(StepModel, RowsOfANodeCrossTheNetworkOnce) {
  const std::map<std::string, TableSharder> in_nodes = {
      {"a", TableRowWise(0)}, {"b", TableRowWise(1)}, {"c", TableRowWise(0)}};
  const std::map<std::string, TableSharder> over_nodes = {
      {"a", RowWise()}, {"b", RowWise()}, {"c", RowWise()}};
  const RankLayout nodes = {4, 2};
  const StepPrediction once = Predict(SmallLoad(), in_nodes, SlowBetweenNodes(), nodes);
  const StepPrediction each = Predict(SmallLoad(), over_nodes, SlowBetweenNodes(), nodes);
  double most_once = 0, most_each = 0;
  for (int r = 0; r < 4; ++r) {
    most_once = std::max(most_once, once.ranks[static_cast<size_t>(r)].rows_wire);
    most_each = std::max(most_each, each.ranks[static_cast<size_t>(r)].rows_wire);
  }
  EXPECT_LT(most_once, 0.7 * most_each);

  // A shard's price is of the same way: less than that of a block of rows anywhere.
  const StepModel model(SlowBetweenNodes(), SmallLoad(), nodes);
  const StepTable& a = model.load().tables[0];
  const Shard half{0, 0, 0, a.rows / 2, a.dim};
  EXPECT_LT(model.PriceShard(0, ShardingType::kTableRowWise, half, true).own.rows_wire,
            model.PriceShard(0, ShardingType::kRowWise, half, true).own.rows_wire);
}

TEST(StepModel, RanksShareCores) {
  MachineProfile own = MadeUpProfile();
  own.cores = 0;
  const StepPrediction shared = Predict(SmallLoad(), kDealt),
                       alone = Predict(SmallLoad(), kDealt, own);
  EXPECT_TRUE(shared.limited_by_cores);
  EXPECT_FALSE(alone.limited_by_cores);
  double work = 0;
  for (const RankSeconds& rank : shared.ranks) work += rank.work();
  EXPECT_NEAR(shared.seconds - shared.waiting - 2e-5, work / 2, 0.35 * work);
  EXPECT_GE(shared.seconds - shared.waiting, work / 2);
  EXPECT_LT(alone.seconds, shared.seconds);
}

TEST(StepOf, IsTheLargerOfBusiestRankAndSharedCores) {
  RankSeconds busy, idle;
  busy.update = 8;
  idle.update = 2;
  busy.rows_wire = idle.rows_wire = 1;
  EXPECT_DOUBLE_EQ(StepOf({busy, idle, idle, idle}, 4, 2, 1).seconds, 8 + 1);
  EXPECT_DOUBLE_EQ(StepOf({busy, busy, idle, idle}, 4, 2, 1).seconds, 10 + 1);
  EXPECT_DOUBLE_EQ(StepOf({busy, busy, idle, idle}, 2, 2, 1).seconds, 8 + 1);  // a node each
  EXPECT_DOUBLE_EQ(StepOf({busy, idle}, 2, 2, 2).seconds, 10 + 1);             // two threads each
  EXPECT_DOUBLE_EQ(StepOf({busy, busy, busy, busy}, 4, 0, 1).seconds, 8 + 1);
}

TEST(StepOf, EveryExchangeWaitsForTheBusiestRank) {
  RankSeconds looks, updates;
  looks.lookup = 3;
  updates.update = 5;
  EXPECT_DOUBLE_EQ(StepOf({looks, updates}, 2, 2, 1).seconds, 8);
}

TEST(StepModel, AHotBlockOfRowsMakesItsRankBusy) {
  StepLoad load = SmallLoad();
  const std::map<std::string, TableSharder> plan = {
      {"a", RowWise()}, {"b", RowWise()}, {"c", RowWise()}};
  const StepPrediction even = Predict(load, plan);
  EXPECT_NEAR(even.ranks[0].lookup, even.ranks[3].lookup, 1e-9);
  for (StepTable& t : load.tables) t.features[0].popularity = ZipfRows(t.rows, 1.1, true);
  const StepPrediction hot = Predict(load, plan);
  EXPECT_GT(hot.ranks[0].input_dist, 1.2 * hot.ranks[3].input_dist);
  EXPECT_EQ(hot.busiest, 0);
}

TEST(StepModel, PopularRowsAreCheaper) {
  StepLoad load = SmallLoad();
  const StepPrediction even = Predict(load, kDealt);
  for (StepTable& t : load.tables) t.features[0].popularity = ZipfRows(t.rows, 1.1, false);
  const StepPrediction skewed = Predict(load, kDealt);
  EXPECT_LT(skewed.ranks[0].lookup, even.ranks[0].lookup);
  EXPECT_LT(skewed.ranks[0].update, even.ranks[0].update);
}

TEST(StepModel, ACodecTradesWorkForBytes) {
  StepLoad load = SmallLoad();
  const StepPrediction plain = Predict(load, kDealt);
  load.codecs = ParseWireCodecs("fp16");
  const StepPrediction halves = Predict(load, kDealt);
  EXPECT_LT(halves.ranks[0].rows_wire, plain.ranks[0].rows_wire);
  EXPECT_LT(halves.ranks[0].gradients_wire, plain.ranks[0].gradients_wire);
  EXPECT_GT(halves.ranks[0].output_dist, plain.ranks[0].output_dist);
  EXPECT_EQ(halves.ranks[0].ids_wire, plain.ranks[0].ids_wire);
}

TEST(StepModel, ReplicasUpdateWithAllRanksIds) {
  const std::map<std::string, TableSharder> replicated = {
      {"a", DataParallel()}, {"b", DataParallel()}, {"c", DataParallel()}};
  const StepPrediction all = Predict(SmallLoad(), replicated), dealt = Predict(SmallLoad(), kDealt);
  EXPECT_NEAR(all.ranks[3].update, 3 * dealt.ranks[0].update, 0.1 * all.ranks[3].update);
  EXPECT_NEAR(all.ranks[0].lookup, 0.75 * dealt.ranks[0].lookup, 0.1 * all.ranks[0].lookup);
}

TEST(StepModel, KernelsRowTypesAndRulesHaveTheirPrices) {
  const StepPrediction fused = Predict(SmallLoad(), kDealt);
  const StepPrediction cached =
      Predict(SmallLoad(), {{"a", WithKernel(TableWise(0), ComputeKernel::kFusedUvmCaching)},
                            {"b", TableWise(1)},
                            {"c", TableWise(2)}});
  // All ranks' ids; of evenly named rows the cache lacks as many as do not lie in its lines.
  const double ids = 4 * 4096, misses = 0.8 * DistinctRows(UniformRows(100'000), ids),
               more = 1e-4 + ids * 1e-9 + misses * (2e-9 + 2 * (64 * 4 + 4) * 4e-11);
  EXPECT_NEAR(cached.ranks[0].tiers, more, 1e-8);
  EXPECT_EQ(cached.ranks[1].tiers, 0);
  EXPECT_EQ(cached.ranks[0].lookup, fused.ranks[0].lookup);
  EXPECT_EQ(cached.ranks[0].update, fused.ranks[0].update);
  StepLoad halves = SmallLoad();
  for (StepTable& t : halves.tables) t.row_type = DType::kF16;
  EXPECT_GT(Predict(halves, kDealt).ranks[0].update, fused.ranks[0].update);
  StepLoad other = SmallLoad();
  other.tables[0].rule = "lion";  // as adagrad, by its states
  EXPECT_GT(Predict(other, kDealt).ranks[0].update, 0);
}

// Ranks of a node wait for what all of them read, however few of them have tables on the disk.
TEST(StepModel, ADiskIsItsNodes) {
  MachineProfile profile = MadeUpProfile();  // measured with 2 ranks at a time
  profile.tiers[ComputeKernel::kKeyValue] = {.byte = 1e-9};
  const StepPrediction step = Predict(SmallLoad(),
                                      {{"a", WithKernel(TableWise(0), ComputeKernel::kKeyValue)},
                                       {"b", TableWise(2)},
                                       {"c", TableWise(3)}},
                                      profile, {4, 2});
  const double misses = 0.8 * DistinctRows(UniformRows(100'000), 4 * 4096);
  const double bytes = MovesOfDisk(misses, 100'000, 64 * 4, 4).bytes;
  EXPECT_NEAR(bytes, 4096 * 100'000 / 15 * (1 - std::exp(-misses * 15 / 100'000)), 1);
  EXPECT_NEAR(step.ranks[0].disk, bytes * 1e-9 / 2, 1e-9);
  EXPECT_EQ(step.ranks[1].disk, step.ranks[0].disk);
  EXPECT_EQ(step.ranks[2].disk, 0);
  EXPECT_GE(step.waiting, step.ranks[0].disk);  // which needs no core
}

// The prices of all shards, each times their number, add up to the plan's work.
void ExpectPricesAddUp(const RankLayout& layout, const std::map<std::string, TableSharder>& plans) {
  const StepLoad load = SmallLoad();
  const StepModel model(MadeUpProfile(), load, layout);
  const ShardingPlan plan = MakeShardingPlan(layout, Shapes(load), plans);
  RankSeconds prices;
  for (size_t t = 0; t < load.tables.size(); ++t) {
    const TableSharding& sharding = plan.tables.at(load.tables[t].name);
    for (const Shard& shard : sharding.shards) {
      const ShardSeconds s = model.PriceShard(static_cast<int>(t), sharding.type, shard,
                                              shard.column_offset == 0, sharding.kernel);
      prices += s.own;
      prices += s.everyone * 4;
    }
  }
  RankSeconds step;
  for (const RankSeconds& rank : model.Predict(plan).ranks) step += rank;
  // Calls, and the check of ids, belong to every plan.
  EXPECT_NEAR(prices.lookup, step.lookup, 4 * 2 * 1.21e-6);
  EXPECT_NEAR(prices.update, step.update, 4 * 2 * 1.21e-6);
  EXPECT_NEAR(prices.output_dist, step.output_dist, 4 * 2 * 2.41e-6);
  EXPECT_NEAR(prices.gradient_dist, step.gradient_dist, 4 * 2 * 2.41e-6);
  EXPECT_LT(prices.input_dist, step.input_dist);
  EXPECT_GT(prices.input_dist, 0.7 * step.input_dist);
  EXPECT_EQ(prices.dense, 0);
}

TEST(StepModel, PricesAddUpToTheStep) {
  ExpectPricesAddUp({4, 4}, {{"a", RowWise()}, {"b", ColumnWise({0, 3})}, {"c", DataParallel()}});
  ExpectPricesAddUp({4, 2},
                    {{"a", TableRowWise(1)}, {"b", GridShard({0, 1}, 32)}, {"c", DataParallel()}});
}

TEST(StepModel, LatencyIsAnyPlans) {
  const StepPrediction step = Predict(SmallLoad(), kDealt);
  EXPECT_GE(step.waiting, 4 * 4e-5);
  EXPECT_LT(step.waiting, step.seconds);
  StepLoad alone = SmallLoad();
  EXPECT_EQ(Predict(alone, {{"a", TableWise(0)}, {"b", TableWise(0)}, {"c", TableWise(0)}},
                    MadeUpProfile(), {1, 1})
                .waiting,
            0);
}

TEST(StepModel, SaysWhatIsWrong) {
  const auto message = [](const StepLoad& load) -> std::string {
    try {
      StepModel(MadeUpProfile(), load, {4, 4});
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  StepLoad load = SmallLoad();
  load.tables[1].rows = 0;
  EXPECT_THAT(message(load), HasSubstr("table b: 0 rows"));
  load = SmallLoad();
  load.tables[2].rule = "sgdd";
  EXPECT_THAT(message(load), HasSubstr("no rule \"sgdd\"; expected one of sgd, "));
  load = SmallLoad();
  load.tables[0].features[0].ids = -1;
  EXPECT_THAT(message(load), HasSubstr("table a: a feature with 512 bags and -1 ids"));
  EXPECT_THROW(StepModel(MadeUpProfile(), SmallLoad(), {4, 3}), Error);
  const StepModel model(MadeUpProfile(), SmallLoad(), {2, 2});
  EXPECT_THROW(model.Predict(MakeShardingPlan({4, 4}, Shapes(SmallLoad()), RowWise())), Error);
}

}  // namespace
}  // namespace tessera
