#ifndef TESSERA_PLANNER_MODEL_PLACEMENT_RULES_H_
#define TESSERA_PLANNER_MODEL_PLACEMENT_RULES_H_
// A user's demands on where tables lie, beyond each table's own constraints. Plain data. Tables are
// named by full name, or by bare name where one table alone has it.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sharding/plan/plan.h"

namespace tessera {

// Limits of one rank's memory, of tables, the dense part and batches of ids together; a limit left
// out is the topology's.
struct RankCap {
  int rank = 0;
  std::optional<int64_t> hbm = {}, ddr = {};
};

struct PlacementRules {
  // Tables of a list get one sharding type, and their i-th shards the same rank.
  std::vector<std::vector<std::string>> together = {};
  // No two tables of a list have a rank in common.
  std::vector<std::vector<std::string>> apart = {};
  std::vector<RankCap> rank_caps = {};
  // The plan that the model has now. The search starts from it, and moves at most
  // `most_moved_bytes` of weights that a rank holds now to another one. Tables that it lacks are
  // new and move nothing; tables that it has and the model lacks are passed over.
  std::optional<ShardingPlan> existing = {};
  std::optional<int64_t> most_moved_bytes = {};

  // Whether a rule says where tables lie; rank_caps are limits of memory alone.
  bool place_tables() const { return !together.empty() || !apart.empty() || existing; }
  bool empty() const { return !place_tables() && rank_caps.empty(); }
};

}  // namespace tessera
#endif  // TESSERA_PLANNER_MODEL_PLACEMENT_RULES_H_
