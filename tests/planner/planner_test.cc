// Properties of every plan, whichever search finds it: sound, as good as brute force where that is
// possible, the same for the same input, and explained where there is none.
#include "planner/planner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "planner/model/planner_error.h"
#include "planner/plan_conversion.h"
#include "sharding/plan/column_cuts.h"
#include "tests/planner/small_model.h"

namespace tessera {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

PlanResult PlanOf(const Topology& topology, const PlannerModel& model,
                  const PlannerOptions& options = {}) {
  PlanResult plan = EmbeddingShardingPlanner(topology, model, options).Plan();
  ExpectSound(topology, model, plan);
  return plan;
}

PlannerError ErrorOf(const Topology& topology, const PlannerModel& model,
                     const PlannerOptions& options = {}) {
  try {
    EmbeddingShardingPlanner(topology, model, options).Plan();
  } catch (const PlannerError& error) {
    return error;
  }
  return PlannerError(PlannerErrorKind::kPartition, "no error");
}

// The least busiest rank over all table_wise and row_wise choices.
double BruteForce(const EmbeddingShardingPlanner& planner) {
  const std::vector<ShardingOption> options = planner.enumerator().Enumerate();
  const size_t ranks = static_cast<size_t>(planner.topology().world_size);
  double best = 1e300;
  std::vector<double> load(ranks);
  const auto place = [&](const auto& self, int table) -> void {
    if (table == static_cast<int>(planner.model().tables.size())) {
      best = std::min(best, *std::max_element(load.begin(), load.end()));
      return;
    }
    for (const ShardingOption& option : options) {
      if (option.table != table) continue;
      const bool uniform = option.partition_by() == PartitionBy::kUniform;
      for (size_t r = 0; r < (uniform ? 1 : ranks); ++r) {
        const std::vector<double> before = load;
        option.ForEachShard([&](int64_t i, const ShardRun& run) {
          load[uniform ? static_cast<size_t>(i) : r] += run.perf.total();
        });
        self(self, table + 1);
        load = before;
      }
    }
  };
  place(place, 0);
  return best;
}

PlannerModel RandomModel(std::mt19937& random, int tables) {
  std::vector<std::pair<int64_t, int64_t>> shapes;
  for (int t = 0; t < tables; ++t)
    shapes.emplace_back(1000 + random() % 100000, int64_t{16} << random() % 4);
  PlannerModel model = ModelOf(shapes);
  for (const PlannerTable& table : model.tables)
    model.constraints[table.name] = {
        .sharding_types = {ShardingType::kTableWise, ShardingType::kRowWise},
        .compute_kernels = {PlanKernel::kFused},
        .pooling_factors = {1.0 + static_cast<double>(random() % 30)}};
  return model;
}

TEST(PlannerTest, ColumnsAreNotCutWhereTheRuleNeedsWholeRows) {
  PlannerModel model = ModelOf({{1000, 512}, {1000, 512}});
  model.tables[0].optimizer = "emainplace_rowwise_adagrad";
  const EmbeddingShardingPlanner planner(GpuTopology(4, 4), model);
  bool other_is_cut = false;
  for (const ShardingOption& option : planner.enumerator().Enumerate()) {
    const bool cut = CutsColumns(option.type);
    EXPECT_FALSE(cut && option.table == 0) << ToString(option.type);
    other_is_cut = other_is_cut || (cut && option.table == 1);
  }
  EXPECT_TRUE(other_is_cut);
}

TEST(PlannerTest, IsAsGoodAsBruteForceOnSmallProblemsAndKnowsIt) {
  std::mt19937 random(1);
  for (int i = 0; i < 12; ++i) {
    const PlannerModel model = RandomModel(random, 2 + static_cast<int>(random() % 4));
    const Topology topology = GpuTopology(3, 3);
    const PlanResult plan = PlanOf(topology, model);
    const double best = BruteForce(EmbeddingShardingPlanner(topology, model));
    EXPECT_NEAR(plan.rating, best, 1e-8 * best) << "problem " << i;
    EXPECT_TRUE(plan.proven_optimal) << "problem " << i;
    EXPECT_NEAR(plan.lower_bound, best, 1e-8 * best) << "problem " << i;
  }
}

TEST(PlannerTest, ATableForOtherDevicesIsLeftOutOfThePlanAndNoShardingPlanLacksIt) {
  PlannerModel model = ModelOf({{1000, 16}, {2000, 16}});
  model.constraints[model.tables[1].name] = {.device_group = ComputeDevice::kCpu};
  const Topology topology = GpuTopology(2, 2);
  const PlanResult plan = EmbeddingShardingPlanner(topology, model).Plan();
  ASSERT_EQ(plan.tables.size(), 1);
  EXPECT_EQ(plan.tables[0].option.table, 0);
  try {
    ToShardingPlan(topology, model, plan.tables);
    ADD_FAILURE() << "expected an error";
  } catch (const PlannerError& error) {
    EXPECT_EQ(error.kind(), PlannerErrorKind::kMissingTableInPlan);
    EXPECT_NE(std::string(error.what()).find("ask for device_group cpu"), std::string::npos);
  }
}

TEST(PlannerTest, SameInputSamePlanInAnyOrderOfTables) {
  std::mt19937 random(2);
  PlannerModel model = RandomModel(random, 40);
  const Topology topology = GpuTopology(16, 8);
  const PlannerOptions options{.option_rules = OptionRules::kBuild};
  const auto placed = [&](const PlannerModel& m) {
    std::map<std::string, std::vector<int>> ranks;
    for (const PlacedOption& p : PlanOf(topology, m, options).tables)
      ranks[m.tables[static_cast<size_t>(p.option.table)].name] = p.ranks;
    return ranks;
  };
  const auto first = placed(model);
  EXPECT_EQ(placed(model), first);
  std::reverse(model.tables.begin(), model.tables.end());
  EXPECT_EQ(placed(model), first);
}

TEST(PlannerTest, BeatsTheProposersOrKeepsWhatTheyFound) {
  std::mt19937 random(3);
  for (int i = 0; i < 6; ++i) {
    const PlannerModel model = RandomModel(random, 20);
    const Topology topology = GpuTopology(8, 4);
    PlannerOptions walk{.proposers = TorchRecProposers(), .search = false};
    const PlanResult torchrec = PlanOf(topology, model, walk);
    walk.search = true;
    const PlanResult both = PlanOf(topology, model, walk);
    EXPECT_LE(both.rating, torchrec.rating * (1 + 1e-12));
    EXPECT_EQ(both.num_proposals, torchrec.num_proposals);
    EXPECT_LE(PlanOf(topology, model).rating, torchrec.rating * (1 + 1e-9));
  }
}

// Our search finds a plan for each of 60 problems for which TorchRec's finds one.
TEST(PlannerTest, FindsAPlanWhereverTorchRecDoes) {
  std::mt19937 random(4);
  int feasible = 0;
  for (int i = 0; i < 60; ++i) {
    PlannerModel model = RandomModel(random, 6 + static_cast<int>(random() % 20));
    double bytes = 0;
    for (PlannerTable& table : model.tables) {
      table.rows *= 100;
      bytes += static_cast<double>(table.rows * table.dim * 4);
    }
    Topology topology = GpuTopology(8, 4);
    topology.hbm_cap = static_cast<int64_t>(
        bytes / 8 / 0.85 * (1.0 + 0.04 * static_cast<double>(random() % 8)) + 3e8);
    const auto finds = [&](const PlannerOptions& options) {
      try {
        PlanOf(topology, model, options);
        return true;
      } catch (const PlannerError&) {
        return false;
      }
    };
    if (!finds({.proposers = TorchRecProposers(), .search = false})) continue;
    ++feasible;
    EXPECT_TRUE(finds({.effort = 0.1})) << "problem " << i;
  }
  EXPECT_GT(feasible, 10);
}

TEST(PlannerTest, TablesAreCutWhereOneRankCannotHoldThem) {
  PlannerModel model = ModelOf({{60'000'000, 128}, {1000, 64}});
  Topology topology = GpuTopology(4, 4);
  topology.hbm_cap = int64_t{12} << 30;
  const PlanResult plan = PlanOf(topology, model);
  EXPECT_GT(plan.tables[0].option.num_shards() *
                (plan.tables[0].option.kernel != PlanKernel::kFused ? 2 : 1),
            1);
}

TEST(PlannerTest, SharedCoresCountAllRanksOfANode) {
  std::mt19937 random(5);
  const PlannerModel model = RandomModel(random, 12);
  Topology topology = GpuTopology(4, 4);
  topology.cores_per_node = 2;
  const PlanResult plan = PlanOf(topology, model);
  double sum = 0;
  for (const double rank : plan.rank_perf) sum += rank;
  EXPECT_DOUBLE_EQ(plan.rating, std::max(plan.max_rank_perf, sum / 2));
  EXPECT_EQ(plan.rated_by_node, plan.rating > plan.max_rank_perf);
}

// Empty ranks of idle nodes take tables first; these are too many ranks for branch and bound.
TEST(PlannerTest, TablesSpreadOverNodesThatShareCores) {
  PlannerModel model = ModelOf(std::vector<std::pair<int64_t, int64_t>>(24, {100'000, 64}));
  for (const PlannerTable& table : model.tables)
    model.constraints[table.name].sharding_types = {ShardingType::kTableWise};
  Topology topology = GpuTopology(96, 4);
  topology.cores_per_node = 2;
  const PlanResult plan = PlanOf(topology, model);
  EXPECT_DOUBLE_EQ(plan.rating, plan.tables[0].option.total_perf()) << "that of one table";
}

// TorchRec refuses one that holds the whole table, too.
TEST(PlannerTest, CachesOfOtherSizesAreNamed) {
  PlannerModel model = ModelOf({{100'000, 64}});
  TableConstraints& constraints = model.constraints["t0"];
  constraints.compute_kernels = {PlanKernel::kFusedUvmCaching};
  for (const double wrong : {1.0, 1.5}) {
    constraints.cache_params = {.load_factor = wrong};
    const PlannerError error = ErrorOf(GpuTopology(2, 2), model);
    EXPECT_EQ(error.kind(), PlannerErrorKind::kInvalidComputeKernel);
    EXPECT_THAT(error.what(),
                HasSubstr(Format("table ebc.t0: expected a cache load factor above 0 and below 1 "
                                 "(or a kernel without a cache), got {} under fused_uvm_caching",
                                 wrong)));
  }
  constraints.cache_params = {.bytes = 31 * 64 * 4};
  EXPECT_THAT(ErrorOf(GpuTopology(2, 2), model).what(),
              HasSubstr("got 0 under fused_uvm_caching: cache_params.bytes hold no set of lines"));
}

TEST(PlannerTest, AnInfeasibleModelIsExplained) {
  PlannerModel model = ModelOf({{60'000'000, 128}, {1000, 64}});
  model.constraints["t0"].sharding_types = {ShardingType::kTableWise};
  model.constraints["t0"].compute_kernels = {PlanKernel::kFused};
  Topology topology = GpuTopology(8, 8);
  topology.hbm_cap = int64_t{8} << 30;
  const PlannerError strict = ErrorOf(topology, model);
  EXPECT_EQ(strict.kind(), PlannerErrorKind::kStrictConstraints);
  EXPECT_THAT(strict.what(), HasSubstr("table ebc.t0: its smallest shard takes 28."));
  EXPECT_THAT(strict.what(), HasSubstr("relax its sharding_types: row_wise with fused would fit"));

  topology.hbm_cap = int64_t{2} << 30;
  topology.world_size = topology.local_world_size = 2;
  const PlannerError total = ErrorOf(topology, model);
  EXPECT_EQ(total.kind(), PlannerErrorKind::kInsufficientStorage);
  EXPECT_THAT(total.what(), HasSubstr("is missing; the largest tables are ebc.t0 (28."));
  EXPECT_THAT(total.what(), Not(HasSubstr("SSD"))) << "no table may lie there";
}

TEST(PlannerTest, ATableWithoutOptionsIsNamed) {
  PlannerModel model = ModelOf({{100, 8}});
  model.constraints["t0"].compute_kernels = {PlanKernel::kQuant};
  const PlannerError error = ErrorOf(GpuTopology(2, 2), model);
  EXPECT_EQ(error.kind(), PlannerErrorKind::kNoOption);
  EXPECT_THAT(error.what(), HasSubstr("table ebc.t0"));
  EXPECT_THAT(error.what(), HasSubstr("its sharding_types are any, its compute_kernels quant"));
}

TEST(PlannerTest, AnOptionThatWouldBeIgnoredBesideAnotherIsRefusedAtOnce) {
  const auto refusal = [](const Topology& topology, const PlannerOptions& options) -> std::string {
    try {
      const EmbeddingShardingPlanner planner(topology, ModelOf({{100, 8}, {100, 8}}), options);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  const Topology gpus = GpuTopology(2, 2);
  Topology cpus = gpus;
  cpus.compute_device = ComputeDevice::kCpu;
  const std::vector<ProposerSettings> proposers = TorchRecProposers();
  PlacementRules rules{.together = {{"t0", "t1"}}, .existing = ShardingPlan{}};
  EXPECT_THAT(refusal(gpus, {.proposers = proposers, .search = false, .rules = rules}),
              HasSubstr("search = false beside rules (together and existing): "));
  EXPECT_THAT(refusal(gpus, {.search = false}), HasSubstr("search = false beside no proposers"));
  EXPECT_THAT(refusal(gpus, {.rules = {.most_moved_bytes = 5}}),
              HasSubstr("most_moved_bytes beside no existing plan"));
  EXPECT_EQ(refusal(cpus, {.perf_model = PerfModel::kMaxRankHbm}), "no error");  // as TorchRec
  EXPECT_THAT(refusal(cpus, {.rules = {.rank_caps = {{.rank = 1, .hbm = 5}}}}),
              HasSubstr("rank_caps: hbm of rank 1 beside ranks that are CPUs"));
  EXPECT_EQ(refusal(cpus, {.rules = {.rank_caps = {{.rank = 1, .ddr = 5}}}}), "no error");
}

TEST(PlannerTest, ProposersKnowCapsOfRanks) {
  const PlanResult plan = PlanOf(GpuTopology(3, 3), ModelOf({{1000, 16}, {2000, 16}, {3000, 32}}),
                                 {.proposers = TorchRecProposers(),
                                  .search = false,
                                  .rules = {.rank_caps = {{.rank = 1, .hbm = 0, .ddr = 0}}}});
  EXPECT_GT(plan.num_plans, 0);
  EXPECT_EQ(plan.rank_storage[1], Storage{});
}

TEST(PlannerTest, AShareOfHostMemoryIsReserved) {
  Topology cpus = GpuTopology(2, 2);
  cpus.compute_device = ComputeDevice::kCpu;
  cpus.ddr_cap = 1'000'000;
  const PlannerModel model = ModelOf({{1000, 16}});
  const auto ddr = [&](const Reservation& reservation) {
    return Reserve(cpus, model, reservation).capacity[0].ddr;
  };
  EXPECT_EQ(ddr({.ddr_percentage = 0.25}), ddr({}) - 250'000);
  EXPECT_EQ(ddr({.percentage = 0.5}), ddr({}));  // is of HBM
}

TEST(PlannerTest, AReservationRefusesBytesThatItWouldNotLookAt) {
  const auto refusal = [](const Reservation& reservation) -> std::string {
    try {
      Reserve(GpuTopology(2, 2), ModelOf({{1000, 16}}), reservation);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  using enum ReservationKind;
  EXPECT_THAT(refusal({.kind = kHeuristical, .hbm_reserved_bytes = 5}),
              HasSubstr("hbm_reserved_bytes beside heuristical, which does not know it; expected "
                        "fixed_absolute"));
  EXPECT_THAT(refusal({.kind = kFixedAbsolute, .margin_bytes = 5}),
              HasSubstr("margin_bytes beside fixed_absolute"));
  EXPECT_EQ(refusal({.kind = kFixedAbsolute, .hbm_reserved_bytes = 5}), "no error");
  EXPECT_EQ(refusal({.kind = kSkuAware, .margin_bytes = 5}), "no error");
}

TEST(PlannerTest, AModelWithoutTablesHasAnEmptyPlan) {
  const PlanResult plan = EmbeddingShardingPlanner(GpuTopology(2, 2), PlannerModel{}).Plan();
  EXPECT_TRUE(plan.tables.empty());
  EXPECT_EQ(plan.rating, 0);
}

}  // namespace
}  // namespace tessera
