#ifndef TESSERA_PLANNER_SEARCH_PLAN_SEARCH_H_
#define TESSERA_PLANNER_SEARCH_PLAN_SEARCH_H_
// The search for a placement whose busiest rank has least to do:
//
//   choose   a candidate for each item, from thresholds round the lower bound (option_choice.h)
//   place    from the largest item to the smallest, each shard on the least loaded rank with room
//   improve  the busiest rank gives an item away, takes a smaller one for it, or shards it
//            otherwise, until no such step helps
//
// Work is counted in steps, not in seconds: the same input gives the same plan on every machine.
#include <functional>
#include <vector>

#include "planner/search/placement_state.h"

namespace tessera::internal {

// A whole placement: of each item, its candidate and ranks.
struct Solution {
  std::vector<PlacedItem> placed;
  double rating = kNever;

  bool found() const { return rating < kNever; }
};

// Bytes of a table that an item's placement would bring to ranks that do not hold them now.
using MovedBytes =
    std::function<int64_t(int item, const Candidate&, const std::vector<int>& ranks)>;

struct SearchProblem {
  const std::vector<Item>& items;
  const Topology& topology;
  const std::vector<Storage>& capacity;
  double lower_bound = 0;  // the search ends where it is reached
  double effort = 1;       // how much it works, to its default
  // Limits what Improve may move, if set.
  MovedBytes moved_bytes = {};
  int64_t most_moved_bytes = 0;
};

// Not found if no start could be placed. Does not look at what moves.
Solution SearchPlan(const SearchProblem& problem);

// A start from places of some items; the others (candidate -1), and those that find no room where
// they were, go where they cost least. Not found if that fits nowhere, or moves too much.
Solution Complete(const SearchProblem& problem, const std::vector<PlacedItem>& known);

// Improves a start that fits.
Solution Improve(const SearchProblem& problem, const Solution& start);

// Rates a placement, recomputed from its shards.
double Rate(const SearchProblem& problem, const std::vector<PlacedItem>& placed);

}  // namespace tessera::internal
#endif  // TESSERA_PLANNER_SEARCH_PLAN_SEARCH_H_
