#include "tests/planner/small_model.h"

#include <gtest/gtest.h>

#include <set>

namespace tessera {

void ExpectSound(const Topology& topology, const PlannerModel& model, const PlanResult& plan) {
  std::set<int> tables;
  std::vector<Storage> used(static_cast<size_t>(topology.world_size));
  std::vector<double> perf(used.size());
  for (const PlacedOption& placed : plan.tables) {
    EXPECT_TRUE(tables.insert(placed.option.table).second);
    ASSERT_EQ(placed.option.num_shards(), static_cast<int64_t>(placed.ranks.size()));
    placed.option.ForEachShard([&](int64_t i, const ShardRun& run) {
      const int rank = placed.ranks[static_cast<size_t>(i)];
      ASSERT_GE(rank, 0);
      ASSERT_LT(rank, topology.world_size);
      used[static_cast<size_t>(rank)] += run.storage;
      perf[static_cast<size_t>(rank)] += run.perf.total();
    });
  }
  EXPECT_EQ(tables.size(), model.tables.size());
  double busiest = 0;
  for (size_t r = 0; r < used.size(); ++r) {
    EXPECT_TRUE(used[r].FitsIn(plan.reserved.capacity[r])) << "rank " << r;
    EXPECT_EQ(used[r], plan.rank_storage[r]);
    busiest = std::max(busiest, perf[r]);
  }
  EXPECT_DOUBLE_EQ(busiest, plan.max_rank_perf);
  EXPECT_GE(plan.rating, plan.lower_bound * (1 - 1e-9));
  EXPECT_GE(plan.lower_bound, plan.threshold_bound * (1 - 1e-9));
}

}  // namespace tessera
