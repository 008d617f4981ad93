#ifndef TESSERA_EXAMPLES_TWO_TOWER_RECALL_H_
#define TESSERA_EXAMPLES_TWO_TOWER_RECALL_H_
// How well a ranking of items foresees what users will like.
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "examples/two_tower/split.h"

namespace tessera::two_tower {

// The k highest scores, the highest first; `without` are left out.
std::vector<int64_t> TopItems(std::span<const float> scores, size_t k,
                              std::span<const int64_t> without);

// Recall at k: of each user's held-out items, which share is among the k best that are not known
// already; the mean over users with any. `scores_of(user)` has a score for every item.
double RecallAt(const Likes& likes, size_t k,
                const std::function<std::span<const float>(int64_t user)>& scores_of);

}  // namespace tessera::two_tower
#endif  // TESSERA_EXAMPLES_TWO_TOWER_RECALL_H_
