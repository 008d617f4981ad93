#include "planner/existing_plan.h"

#include <algorithm>

#include "planner/model/planner_error.h"
#include "planner/moved_elements.h"
#include "planner/search/enumerator.h"

namespace tessera::internal {
namespace {

bool SameRectangles(const std::vector<Shard>& a, const std::vector<Shard>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Shard& x, Shard y) {
    y.rank = x.rank;
    return x == y;
  });
}

void CheckRanks(const ShardingPlan& plan, int ranks) {
  if (plan.world_size != ranks)
    throw PlannerError(PlannerErrorKind::kPlacementRules,
                       Format("placement rules: the existing plan is for {} ranks, the topology "
                              "has {}",
                              plan.world_size, ranks));
  for (const auto& [name, sharding] : plan.tables)
    for (const Shard& shard : sharding.shards)
      if (shard.rank < 0 || shard.rank >= plan.world_size)
        throw PlannerError(PlannerErrorKind::kPlacementRules,
                           Format("placement rules: the existing plan puts table {} on rank {}",
                                  name, shard.rank));
}

}  // namespace

ExistingPlan::ExistingPlan(const Topology& topology, const PlannerModel& model,
                           const ShardingPlan& plan)
    : topology_(topology), model_(model), tables_(model.tables.size()) {
  CheckRanks(plan, topology.world_size);
  for (size_t t = 0; t < tables_.size(); ++t) {
    const auto found = plan.tables.find(model.tables[t].name);
    if (found == plan.tables.end()) continue;
    Table& table = tables_[t];
    table.kernel = found->second.kernel;
    table.shards = found->second.shards;
    table.by_rank = ByRank(table.shards);
    for (const Shard& shard : table.shards) table.ranks.push_back(shard.rank);
  }
}

const std::vector<Shard>& ExistingPlan::Shards(int table, ShardingType type) {
  const auto [at, added] = shards_.try_emplace({table, type});
  if (added) at->second = ShardsOf(topology_, model_, table, type);
  return at->second;
}

bool ExistingPlan::Is(const ShardingOption& option, const std::vector<int>& ranks) {
  const Table& table = TableAt(option.table);
  // This is the only type with a rule for the ranks beside that for the rectangles.
  const auto of_one_group = [&](int rank) {
    return rank / topology_.group_size() == ranks[0] / topology_.group_size();
  };
  return !table.shards.empty() && table.ranks == ranks &&
         TrainedKernel(option.kernel) == table.kernel &&
         (option.type != ShardingType::kTableColumnWise ||
          std::all_of(ranks.begin(), ranks.end(), of_one_group)) &&
         SameRectangles(Shards(option.table, option.type), table.shards);
}

std::optional<PlacedItem> ExistingPlan::Find(const Item& item) {
  const std::vector<int>& ranks = TableAt(item.tables[0]).ranks;
  for (size_t c = 0; c < item.candidates.size(); ++c) {
    const std::vector<const ShardingOption*>& members = item.candidates[c].members;
    if (std::all_of(members.begin(), members.end(),
                    [&](const ShardingOption* o) { return Is(*o, ranks); }))
      return PlacedItem{static_cast<int>(c), ranks};
  }
  return {};
}

int64_t ExistingPlan::MovedBytes(const ShardingOption& option, const std::vector<int>& ranks) {
  const std::vector<Shard>& by_rank = TableAt(option.table).by_rank;
  if (by_rank.empty()) return 0;
  const int64_t elements = MovedElements(by_rank, Shards(option.table, option.type), ranks);
  return elements * model_.tables[static_cast<size_t>(option.table)].element_bytes();
}

int64_t ExistingPlan::MovedBytes(const Candidate& candidate, const std::vector<int>& ranks) {
  int64_t bytes = 0;
  for (const ShardingOption* option : candidate.members) bytes += MovedBytes(*option, ranks);
  return bytes;
}

}  // namespace tessera::internal
