#ifndef TESSERA_PLANNER_EXISTING_PLAN_H_
#define TESSERA_PLANNER_EXISTING_PLAN_H_
// The plan that a model has now, as the search sees it: where an item lies, and how many bytes of
// weights another place of it would bring to ranks that do not hold them.
#include <map>
#include <optional>
#include <vector>

#include "planner/search/plan_search.h"

namespace tessera::internal {

class ExistingPlan {
 public:
  // The first two must outlive this. Throws PlannerError for a plan of another number of ranks.
  ExistingPlan(const Topology& topology, const PlannerModel& model, const ShardingPlan& plan);

  // The item's candidate and ranks, if one of its candidates is what the plan says of its tables,
  // by whatever name: of one shard, say, column_wise is table_wise.
  std::optional<PlacedItem> Find(const Item& item);
  // Whether the plan places the item's first table.
  bool Has(const Item& item) const { return !TableAt(item.tables[0]).shards.empty(); }

  int64_t MovedBytes(const Candidate& candidate, const std::vector<int>& ranks);
  int64_t MovedBytes(const ShardingOption& option, const std::vector<int>& ranks);

 private:
  // A table of the model as the plan has it; without shards if it has not.
  struct Table {
    ComputeKernel kernel = ComputeKernel::kFused;
    std::vector<Shard> shards, by_rank;
    std::vector<int> ranks;  // of `shards`
  };

  const Table& TableAt(int table) const { return tables_[static_cast<size_t>(table)]; }
  bool Is(const ShardingOption& option, const std::vector<int>& ranks);
  const std::vector<Shard>& Shards(int table, ShardingType type);

  const Topology& topology_;
  const PlannerModel& model_;
  std::vector<Table> tables_;
  std::map<std::pair<int, ShardingType>, std::vector<Shard>> shards_;  // made so far
};

}  // namespace tessera::internal
#endif  // TESSERA_PLANNER_EXISTING_PLAN_H_
