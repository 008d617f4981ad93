#include "planner/existing_plan.h"

#include <algorithm>

#include "planner/enumerator.h"
#include "planner/planner_error.h"

namespace tessera::internal {
namespace {

int64_t Common(int64_t begin_a, int64_t size_a, int64_t begin_b, int64_t size_b) {
  return std::max<int64_t>(
      0, std::min(begin_a + size_a, begin_b + size_b) - std::max(begin_a, begin_b));
}

// Elements that both hold.
int64_t Overlap(const Shard& a, const Shard& b) {
  return Common(a.row_offset, a.rows, b.row_offset, b.rows) *
         Common(a.column_offset, a.columns, b.column_offset, b.columns);
}

std::vector<int> RanksOf(const TableSharding& sharding) {
  std::vector<int> ranks;
  for (const Shard& shard : sharding.shards) ranks.push_back(shard.rank);
  return ranks;
}

}  // namespace

ExistingPlan::ExistingPlan(const Topology& topology, const PlannerModel& model,
                           const ShardingPlan& plan)
    : topology_(topology), model_(model), plan_(plan) {
  if (plan.world_size != topology.world_size)
    throw PlannerError(PlannerErrorKind::kPlacementRules,
                       Format("placement rules: the existing plan is for {} ranks, the topology "
                              "has {}",
                              plan.world_size, topology.world_size));
  for (const auto& [name, sharding] : plan.tables)
    for (const Shard& shard : sharding.shards)
      if (shard.rank < 0 || shard.rank >= plan.world_size)
        throw PlannerError(PlannerErrorKind::kPlacementRules,
                           Format("placement rules: the existing plan puts table {} on rank {}",
                                  name, shard.rank));
}

const TableSharding* ExistingPlan::ShardingOf(int table) const {
  const auto found = plan_.tables.find(model_.tables[static_cast<size_t>(table)].name);
  return found == plan_.tables.end() ? nullptr : &found->second;
}

const std::vector<Shard>& ExistingPlan::Shards(int table, ShardingType type) {
  const auto [at, added] = shards_.try_emplace({table, type});
  if (added) at->second = ShardsOf(topology_, model_, table, type);
  return at->second;
}

bool ExistingPlan::Is(const ShardingOption& option, const TableSharding& sharding) const {
  if (option.type != sharding.type || ToString(option.kernel) != ToString(sharding.kernel) ||
      option.num_shards() != static_cast<int64_t>(sharding.shards.size()))
    return false;
  bool same = true;
  option.ForEachShard([&](int64_t i, const ShardRun& run) {
    const Shard& shard = sharding.shards[static_cast<size_t>(i)];
    same = same && shard.rows == run.rows && shard.columns == run.columns;
  });
  return same;
}

std::optional<Placed> ExistingPlan::Find(const Item& item) const {
  const TableSharding* first = ShardingOf(item.tables[0]);
  if (first == nullptr) return {};
  const std::vector<int> ranks = RanksOf(*first);
  for (size_t c = 0; c < item.candidates.size(); ++c) {
    const std::vector<const ShardingOption*>& members = item.candidates[c].members;
    const bool same = std::all_of(members.begin(), members.end(), [&](const ShardingOption* o) {
      const TableSharding* sharding = ShardingOf(o->table);
      return sharding != nullptr && RanksOf(*sharding) == ranks && Is(*o, *sharding);
    });
    if (same) return Placed{static_cast<int>(c), ranks};
  }
  return {};
}

int64_t ExistingPlan::MovedBytes(const ShardingOption& option, const std::vector<int>& ranks) {
  const TableSharding* sharding = ShardingOf(option.table);
  if (sharding == nullptr) return 0;
  const std::vector<Shard>& shards = Shards(option.table, option.type);
  int64_t elements = 0;
  for (size_t i = 0; i < shards.size(); ++i) {
    int64_t held = 0;
    for (const Shard& old : sharding->shards)
      if (old.rank == ranks[i]) held += Overlap(shards[i], old);
    elements += shards[i].rows * shards[i].columns - held;
  }
  return elements * model_.tables[static_cast<size_t>(option.table)].element_bytes();
}

int64_t ExistingPlan::MovedBytes(const Candidate& candidate, const std::vector<int>& ranks) {
  int64_t bytes = 0;
  for (const ShardingOption* option : candidate.members) bytes += MovedBytes(*option, ranks);
  return bytes;
}

}  // namespace tessera::internal
