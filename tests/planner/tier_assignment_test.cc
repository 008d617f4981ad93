// Tables on three tiers (HBM, host memory, disk) of two ranks too small for all of them: the
// planner's choice of tiers and ranks is within 5 % of the best of all choices, which a plain loop
// tries one by one, on 20 random problems.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <limits>
#include <random>
#include <vector>

#include "tests/planner/small_model.h"

namespace tessera {
namespace {

constexpr int kProblems = 20, kRanks = 2;

struct Problem {
  Topology topology;
  PlannerModel model;
};

// Four tables, of whose bytes HBM has room for 5 to 50 % and host memory for as much.
Problem MakeProblem(uint32_t seed) {
  std::mt19937 random(seed);
  const auto below = [&](int64_t n) { return static_cast<int64_t>(random()) % n; };
  Problem problem = {GpuTopology(kRanks, kRanks), ModelOf({})};
  double bytes = 0;
  for (int t = 0; t < 4; ++t) {
    PlannerTable table;
    table.name = "t" + std::to_string(t);
    table.rows = 50'000 << below(6);
    table.dim = int64_t{16} << below(4);
    table.features = {"f" + std::to_string(t)};
    table.optimizer = "rowwise_adagrad";
    bytes += static_cast<double>(table.rows * table.dim * 4);
    problem.model.constraints[table.name] = {
        .sharding_types = {ShardingType::kTableWise, ShardingType::kRowWise},
        .compute_kernels = {PlanKernel::kFused, PlanKernel::kFusedUvm, PlanKernel::kKeyValue},
        .pooling_factors = {static_cast<double>(1 + below(40))}};
    problem.model.tables.push_back(table);
  }
  const auto share = [&] { return (5 + below(46)) / 100.0 * bytes / kRanks; };
  constexpr double kForBatches = 48 << 20;
  problem.topology.hbm_cap = static_cast<int64_t>(share() + kForBatches);
  problem.topology.ddr_cap = static_cast<int64_t>(share());
  return problem;
}

// One way to place a table: its time and memory on each rank.
struct Placement {
  double perf[kRanks] = {};
  Storage storage[kRanks] = {};
};

std::vector<Placement> PlacementsOf(const ShardingOption& option) {
  std::vector<Placement> placements;
  for (int rank = 0; rank < kRanks; ++rank) {
    Placement placement;
    option.ForEachShard([&](int64_t i, const ShardRun& run) {
      const int on = option.type == ShardingType::kRowWise ? static_cast<int>(i) : rank;
      placement.perf[on] += run.perf.total();
      placement.storage[on] += run.storage;
    });
    placements.push_back(placement);
    if (option.type == ShardingType::kRowWise) break;
  }
  return placements;
}

// The least rating of any way to place all tables that fits into the ranks' memory.
double BestOfAll(const EmbeddingShardingPlanner& planner, const PlanResult& plan) {
  std::vector<std::vector<Placement>> of_table(planner.model().tables.size());
  for (const ShardingOption& option : plan.options)
    for (const Placement& placement : PlacementsOf(option))
      of_table[static_cast<size_t>(option.table)].push_back(placement);
  double best = std::numeric_limits<double>::infinity();
  std::vector<double> perf(kRanks);
  std::vector<Storage> storage(kRanks);
  const std::function<void(size_t)> place = [&](size_t table) {
    for (int r = 0; r < kRanks; ++r)
      if (!storage[static_cast<size_t>(r)].FitsIn(plan.reserved.capacity[static_cast<size_t>(r)]))
        return;
    if (table == of_table.size()) {
      best = std::min(best, planner.Rate(perf, storage));
      return;
    }
    const std::vector<double> perf_before = perf;
    const std::vector<Storage> storage_before = storage;
    for (const Placement& placement : of_table[table]) {
      for (int r = 0; r < kRanks; ++r) {
        perf[static_cast<size_t>(r)] += placement.perf[r];
        storage[static_cast<size_t>(r)] += placement.storage[r];
      }
      place(table + 1);
      perf = perf_before;
      storage = storage_before;
    }
  };
  place(0);
  return best;
}

TEST(TierAssignment, IsWithinFivePercentOfTheBestOfAll) {
  int on_tier[3] = {};
  double worst = 1;
  for (uint32_t seed = 1; seed <= kProblems; ++seed) {
    const Problem problem = MakeProblem(seed);
    const EmbeddingShardingPlanner planner(
        problem.topology, problem.model,
        {.reservation = {.kind = ReservationKind::kFixedAbsolute}});
    const PlanResult plan = planner.Plan();
    ExpectSound(problem.topology, problem.model, plan);
    const double best = BestOfAll(planner, plan);
    EXPECT_LE(plan.rating, 1.05 * best) << "problem " << seed;
    EXPECT_GE(plan.rating, best * (1 - 1e-9)) << "the loop left out a plan of problem " << seed;
    worst = std::max(worst, plan.rating / best);
    for (const PlacedOption& placed : plan.tables)
      ++on_tier[placed.option.kernel == PlanKernel::kFused      ? 0
                : placed.option.kernel == PlanKernel::kFusedUvm ? 1
                                                                : 2];
  }
  std::printf(
      "%d problems: at most %.4f x the best; tables in HBM %d, host memory %d, on disk %d\n",
      kProblems, worst, on_tier[0], on_tier[1], on_tier[2]);
  for (const int tables : on_tier) EXPECT_GT(tables, 0);
}

}  // namespace
}  // namespace tessera
