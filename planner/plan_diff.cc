#include "planner/plan_diff.h"

#include <algorithm>
#include <map>
#include <set>

#include "planner/moved_elements.h"
#include "runtime/base/check.h"
#include "runtime/base/natural_order.h"

namespace tessera {
namespace {

using TablesByName = std::map<std::string, const PlannerTable*>;

TablesByName ByName(const PlannerModel& model) {
  TablesByName tables;
  for (const PlannerTable& table : model.tables)
    TESSERA_CHECK(tables.emplace(table.name, &table).second,
                  "table {}: it is in two modules, and a sharding plan names tables alone",
                  table.name);
  return tables;
}

const TableSharding* Find(const ShardingPlan& plan, const std::string& table) {
  const auto found = plan.tables.find(table);
  return found == plan.tables.end() ? nullptr : &found->second;
}

std::optional<TableSharding> Copied(const TableSharding* sharding) {
  return sharding == nullptr ? std::nullopt : std::optional(*sharding);
}

int64_t MovedBytes(const TablesByName& tables, const std::string& name, const TableSharding& before,
                   const TableSharding& after) {
  const auto table = tables.find(name);
  TESSERA_CHECK(table != tables.end(),
                "table {}: the plans have it in two places, and the tables lack it, so that its "
                "bytes are not known",
                name);
  std::vector<int> ranks;
  for (const Shard& shard : after.shards) ranks.push_back(shard.rank);
  return table->second->element_bytes() *
         internal::MovedElements(internal::ByRank(before.shards), after.shards, ranks);
}

std::set<std::string, NaturalLess> NamesIn(const ShardingPlan& a, const ShardingPlan& b) {
  std::set<std::string, NaturalLess> names;
  for (const auto& [name, sharding] : a.tables) names.insert(name);
  for (const auto& [name, sharding] : b.tables) names.insert(name);
  return names;
}

// Where a shard ends; a file may say any numbers.
int64_t End(int64_t offset, int64_t size) {
  constexpr int64_t kMaxCoordinate = int64_t{1} << 61;
  return std::clamp<int64_t>(offset, 0, kMaxCoordinate) +
         std::clamp<int64_t>(size, 0, kMaxCoordinate);
}

// The rectangle from 0 to where the last of its shards ends.
TableShape SpannedBy(const std::string& name, const TableSharding& sharding) {
  TableShape shape{.name = name};
  for (const Shard& shard : sharding.shards) {
    shape.rows = std::max(shape.rows, End(shard.row_offset, shard.rows));
    shape.dim = std::max(shape.dim, End(shard.column_offset, shard.columns));
  }
  return shape;
}

}  // namespace

std::string ToString(TableChangeKind kind) {
  switch (kind) {
    case TableChangeKind::kMoved:
      return "moved";
    case TableChangeKind::kInPlace:
      return "in_place";
    case TableChangeKind::kNew:
      return "new";
    case TableChangeKind::kGone:
      return "gone";
  }
  TESSERA_FAIL("unknown TableChangeKind {}", static_cast<int>(kind));
}

TableChangeKind TableChange::kind() const {
  if (!before) return TableChangeKind::kNew;
  if (!after) return TableChangeKind::kGone;
  return moved_bytes > 0 ? TableChangeKind::kMoved : TableChangeKind::kInPlace;
}

int64_t PlanDiff::CountOf(TableChangeKind kind) const {
  return std::count_if(changes.begin(), changes.end(),
                       [&](const TableChange& change) { return change.kind() == kind; });
}

PlanDiff DiffPlans(const PlannerModel& model, const ShardingPlan& before,
                   const ShardingPlan& after) {
  const TablesByName tables = ByName(model);
  PlanDiff diff;
  for (const std::string& name : NamesIn(before, after)) {
    const TableSharding *from = Find(before, name), *to = Find(after, name);
    if (from != nullptr && to != nullptr && *from == *to) {
      ++diff.same;
      continue;
    }
    TableChange change{.table = name, .before = Copied(from), .after = Copied(to)};
    if (from != nullptr && to != nullptr) change.moved_bytes = MovedBytes(tables, name, *from, *to);
    diff.moved_bytes += change.moved_bytes;
    diff.changes.push_back(std::move(change));
  }
  std::stable_sort(
      diff.changes.begin(), diff.changes.end(),
      [](const TableChange& a, const TableChange& b) { return a.moved_bytes > b.moved_bytes; });
  return diff;
}

void CheckTables(const PlannerModel& model, const ShardingPlan& plan) {
  CheckRanks(plan);
  const TablesByName tables = ByName(model);
  for (const auto& [name, sharding] : plan.tables) {
    const auto table = tables.find(name);
    const TableShape shape = table == tables.end() ? SpannedBy(name, sharding)
                                                   : TableShape{name, table->second->planned_rows(),
                                                                table->second->planned_dim()};
    CheckTableSharding(sharding, shape, plan.world_size, plan.local_size);
  }
}

PlannedTables TablesInBoth(const PlannerModel& model, const ShardingPlan& plan) {
  PlannedTables both{model, plan};
  std::erase_if(both.model.tables,
                [&](const PlannerTable& table) { return !plan.tables.contains(table.name); });
  std::erase_if(both.model.constraints,
                [&](const auto& item) { return !plan.tables.contains(item.first); });
  const TablesByName tables = ByName(both.model);
  std::erase_if(both.plan.tables, [&](const auto& item) { return !tables.contains(item.first); });
  return both;
}

}  // namespace tessera
