#ifndef TESSERA_PLANNER_MOVED_ELEMENTS_H_
#define TESSERA_PLANNER_MOVED_ELEMENTS_H_
// Elements that travel so that a table lies otherwise: those that a rank is to hold, and does not
// hold yet. A rank is the same one in both placements, whatever the number of ranks.
#include <cstdint>
#include <vector>

#include "sharding/plan/plan.h"

namespace tessera::internal {

// Shards in the order of their ranks.
std::vector<Shard> ByRank(std::vector<Shard> shards);

// The elements of `shards`, of which each goes to the rank of its place in `ranks`, that this rank
// has in none of the shards of `held`, which are ByRank.
int64_t MovedElements(const std::vector<Shard>& held, const std::vector<Shard>& shards,
                      const std::vector<int>& ranks);

}  // namespace tessera::internal
#endif  // TESSERA_PLANNER_MOVED_ELEMENTS_H_
