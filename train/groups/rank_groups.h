#ifndef TESSERA_TRAIN_GROUPS_RANK_GROUPS_H_
#define TESSERA_TRAIN_GROUPS_RANK_GROUPS_H_
// Ranks in sharding groups of a training (2-D parallelism, TorchRec's DMPCollection; ranks.h): how
// they fit, and what is refused beside them. Each group holds all tables, and the copies of a table
// become their mean now and then, so everything that a table has must have a mean that means
// something. All of these throw Error with a sentence that names both sides.
#include <optional>

#include "sharding/plan/plan.h"
#include "sharding/plan/plan_makers.h"
#include "train/config/train_config.h"

namespace tessera {

// Refuses a size that does not divide the ranks.
void CheckGroupSize(int ranks, int group_size);

// The layout of one group, which a plan is for, of all ranks and their nodes; absent where nodes
// hold unequal numbers of a group's ranks. REQUIRES: group_size divides the ranks.
std::optional<RankLayout> LayoutOfGroup(const RankLayout& all, int group_size);

// Refuses tables with raw ids, on a disk (with a plan also by its kernel), of a rule that counts,
// of the rule dense, of a plugin's rule that remembers anything, and with rounding by chance.
void CheckGroupTables(const TrainConfig& config, const ShardingPlan* plan = nullptr);

}  // namespace tessera
#endif  // TESSERA_TRAIN_GROUPS_RANK_GROUPS_H_
