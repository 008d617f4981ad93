#ifndef TESSERA_PLANNER_SEARCH_LOWER_BOUND_H_
#define TESSERA_PLANNER_SEARCH_LOWER_BOUND_H_
// How good a plan can be at all. If the busiest rank has t, every shard has at most t, and all
// shards together at most t a rank. So with
//
//   least(t) = Σ over items of the cheapest candidate whose every shard is ≤ t
//
// no plan is below the smallest t for which least(t) ≤ t · ranks: the threshold bound. Where memory
// is short, a price λ a byte of HBM gives a bound that is at least as good: the smallest t for
// which Σ min(total + λ·hbm) − λ·(all HBM) ≤ t · ranks holds for every λ ≥ 0.
#include <vector>

#include "planner/search/search_items.h"

namespace tessera::internal {

// `servers` is what Σ cost is divided by: the ranks, or the cores that they share. 0 without items;
// infinity if no t will do.
double ThresholdBound(const std::vector<Item>& items, double servers);

// Returns a bound of at least `threshold_bound`. `capacity` is that of each rank.
double MemoryBound(const std::vector<Item>& items, double servers,
                   const std::vector<Storage>& capacity, double threshold_bound);

}  // namespace tessera::internal
#endif  // TESSERA_PLANNER_SEARCH_LOWER_BOUND_H_
