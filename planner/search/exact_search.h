#ifndef TESSERA_PLANNER_SEARCH_EXACT_SEARCH_H_
#define TESSERA_PLANNER_SEARCH_EXACT_SEARCH_H_
// Branch and bound over all candidates and ranks: for problems of a few tables and ranks it ends,
// and then there is no better plan.
//
// A branch is cut where its busiest rank, its busiest node over the cores that its ranks share, or
// the sum of what is placed and the least that is missing over all ranks, is not below the best
// plan so far. Of ranks (and groups) in the same state only the first is tried; so that more of
// them are, shards of one cost count as if each took as little memory as the least of them. A plan
// that this lets pass and real memory does not is none, and ends the proof.
#include "planner/search/plan_search.h"

namespace tessera::internal {

struct ExactResult {
  bool proven = false;   // all of it was searched
  Solution better = {};  // than the start, if there is one
};

// Does nothing for problems with grid_shard candidates, limits on moved bytes, tables apart, or too
// many items and ranks.
ExactResult SearchExactly(const SearchProblem& problem, double servers, double best_rating);

}  // namespace tessera::internal
#endif  // TESSERA_PLANNER_SEARCH_EXACT_SEARCH_H_
