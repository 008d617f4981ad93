#ifndef TESSERA_PLANNER_SEARCH_OPTION_CHOICE_H_
#define TESSERA_PLANNER_SEARCH_OPTION_CHOICE_H_
// Chooses the candidate that each item starts with: the cheapest whose every shard is at most
// `threshold` (less `base` where it does not lie on all ranks: what those that do take of each),
// where a byte of HBM costs as much as makes all of them fit into `share` of all memory.
#include <vector>

#include "planner/search/search_items.h"

namespace tessera::internal {

// Indices of candidates. An item whose shards are all above the threshold gets the one with the
// smallest largest shard.
std::vector<int> ChooseCandidates(const std::vector<Item>& items,
                                  const std::vector<Storage>& capacity, double threshold,
                                  double base, double share);

}  // namespace tessera::internal
#endif  // TESSERA_PLANNER_SEARCH_OPTION_CHOICE_H_
