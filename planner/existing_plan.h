#ifndef TESSERA_PLANNER_EXISTING_PLAN_H_
#define TESSERA_PLANNER_EXISTING_PLAN_H_
// Private to the .cc files beside it. The plan that a model has now, as the search sees it: where an
// item lies, and how many bytes of weights another place of it would bring to ranks that do not hold
// them.
#include <map>
#include <optional>
#include <vector>

#include "planner/plan_search.h"

namespace tessera::internal {

class ExistingPlan {
 public:
  // All must outlive this. Throws PlannerError for a plan of another number of ranks.
  ExistingPlan(const Topology& topology, const PlannerModel& model, const ShardingPlan& plan);

  // The item's candidate and ranks, if one of its candidates is what the plan says of its tables.
  std::optional<Placed> Find(const Item& item) const;

  int64_t MovedBytes(const Candidate& candidate, const std::vector<int>& ranks);

 private:
  const TableSharding* ShardingOf(int table) const;
  bool Is(const ShardingOption& option, const TableSharding& sharding) const;
  int64_t MovedBytes(const ShardingOption& option, const std::vector<int>& ranks);
  const std::vector<Shard>& Shards(int table, ShardingType type);

  const Topology& topology_;
  const PlannerModel& model_;
  const ShardingPlan& plan_;
  std::map<std::pair<int, ShardingType>, std::vector<Shard>> shards_;  // made so far
};

}  // namespace tessera::internal
#endif  // TESSERA_PLANNER_EXISTING_PLAN_H_
