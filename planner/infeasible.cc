#include "planner/infeasible.h"

#include <algorithm>
#include <map>

#include "planner/model/planner_error.h"

namespace tessera::internal {
namespace {

constexpr size_t kNamed = 5;  // tables, at most

// The least memory of one table over its options: of all its shards, and of one shard.
struct Least {
  Storage sum, shard;
};

// The option of least memory, and the one whose largest shard is smallest.
std::map<int, Least> LeastOf(const std::vector<ShardingOption>& options) {
  std::map<int, Least> least;
  for (const ShardingOption& option : options) {
    const Least own{option.total_storage(), option.max_storage()};
    const auto [at, added] = least.try_emplace(option.table, own);
    at->second.sum = std::min(at->second.sum, own.sum);
    at->second.shard = std::min(at->second.shard, own.shard);
  }
  return least;
}

Storage Missing(const Storage& need, const Storage& have) {
  return {std::max<int64_t>(0, need.hbm - have.hbm), std::max<int64_t>(0, need.ddr - have.ddr),
          std::max<int64_t>(0, need.ssd - have.ssd)};
}

// "19.3 MiB DDR"; where dense parameters and batches alone take more than there is, by how much.
// A disk that they do not ask for is left out.
std::string LeftForTables(Storage have, const Storage& need) {
  if (need.ssd == 0) have.ssd = 0;
  const Storage overdrawn = Missing({}, have);
  const std::string left = ToString(Missing(have, {}));
  if (overdrawn == Storage{}) return left + " for them";
  return Format("{} for them (dense parameters and batches take {} more than there is)", left,
                overdrawn);
}

struct Explainer {
  const EmbeddingShardingPlanner& planner;
  const std::vector<ShardingOption>& options;
  const std::vector<Storage>& capacity;

  std::string Name(int table) const {
    return planner.model().full_name(planner.model().tables[static_cast<size_t>(table)]);
  }

  bool FitsSomewhere(const ShardingOption& option) const {
    return std::any_of(capacity.begin(), capacity.end(),
                       [&](const Storage& rank) { return option.max_storage().FitsIn(rank); });
  }

  // A sentence on an option that would fit if the table's constraint `what` were relaxed, or "".
  std::string Relaxed(int table, const char* what, void (*relax)(TableConstraints&)) const {
    PlannerModel model = planner.model();
    const std::string& name = model.tables[static_cast<size_t>(table)].name;
    if (!model.constraints.contains(name)) return "";
    relax(model.constraints[name]);
    PlannerOptions settings = planner.options();
    const EmbeddingShardingPlanner relaxed(planner.topology(), model, settings);
    for (const ShardingOption& option : relaxed.enumerator().Enumerate())
      if (option.table == table && FitsSomewhere(option))
        return Format("relax its {}: {} with {} would fit", std::string(what), option.type,
                      option.kernel);
    return "";
  }

  std::string Advice(int table) const {
    std::string text =
        Relaxed(table, "sharding_types", [](TableConstraints& c) { c.sharding_types.clear(); });
    if (text.empty())
      text =
          Relaxed(table, "compute_kernels", [](TableConstraints& c) { c.compute_kernels.clear(); });
    if (text.empty())
      text = Relaxed(table, "min_partition", [](TableConstraints& c) { c.min_partition = 4; });
    return text.empty() ? "use more ranks, or ranks with more memory" : text;
  }

  // The tables that have no option that fits on some rank.
  std::string TooBig() const {
    std::map<int, bool> fits;
    for (const ShardingOption& option : options) fits[option.table] |= FitsSomewhere(option);
    const std::map<int, Least> least = LeastOf(options);
    std::string text;
    size_t count = 0;
    for (const auto& [table, any] : fits) {
      if (any || ++count > kNamed) continue;
      text += Format("; table {}: its smallest shard takes {}, {} more than any rank has: {}",
                     Name(table), least.at(table).shard,
                     Missing(least.at(table).shard, LargestOf(capacity)), Advice(table));
    }
    if (count > kNamed) text += Format("; and {} more tables", count - kNamed);
    return text;
  }

  std::string Biggest() const {
    std::vector<std::pair<Storage, int>> sizes;
    for (const auto& [table, least] : LeastOf(options)) sizes.emplace_back(least.sum, table);
    std::sort(sizes.rbegin(), sizes.rend());
    std::string text;
    for (size_t i = 0; i < std::min(kNamed, sizes.size()); ++i)
      text += Format("{}{} ({})", i == 0 ? "" : ", ", Name(sizes[i].second), sizes[i].first);
    return text;
  }
};

}  // namespace

void ThrowInfeasible(const EmbeddingShardingPlanner& planner,
                     const std::vector<ShardingOption>& options,
                     const std::vector<Storage>& capacity,
                     const std::optional<Storage>& least_storage) {
  const Explainer explainer{planner, options, capacity};
  Storage have, least;
  for (const Storage& rank : capacity) have += rank;
  for (const auto& [table, own] : LeastOf(options)) least += own.sum;
  if (least_storage) least = *least_storage;
  const std::string biggest = explainer.Biggest();
  if (!least.FitsIn(have))
    throw PlannerError(
        PlannerErrorKind::kInsufficientStorage,
        Format(
            "no plan: the tables need at least {}, and {} ranks have {}: {} is missing; "
            "the largest tables are {}; use more ranks, a smaller batch, smaller tables, or allow "
            "kernels that keep rows elsewhere{}",
            least, capacity.size(), LeftForTables(have, least), Missing(least, have), biggest,
            explainer.TooBig()));
  const std::string too_big = explainer.TooBig();
  throw PlannerError(
      PlannerErrorKind::kStrictConstraints,
      Format("no plan: the tables need at least {} of {} in all, but no placement that was tried "
             "fits rank by rank{} (each has up to {}){}",
             least, have,
             planner.options().rules.place_tables() ? " and keeps the placement rules" : "",
             LargestOf(capacity),
             too_big.empty() ? Format("; the largest tables are {}: allow them sharding types that "
                                      "cut them (column_wise, row_wise), or use ranks with more "
                                      "memory",
                                      biggest)
                             : too_big));
}

}  // namespace tessera::internal
