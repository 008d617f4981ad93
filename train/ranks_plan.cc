#include "train/ranks_plan.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <string_view>
#include <variant>

#include "embedding/config/placement.h"
#include "runtime/base/check.h"
#include "runtime/files/files.h"
#include "sharding/kernel_location.h"
#include "sharding/managed_collision/make_managed_tables.h"
#include "sharding/plan/column_cuts.h"
#include "sharding/plan/hash_parts.h"
#include "sharding/plan/torchrec_plan.h"

namespace tessera {
namespace {

int64_t ElementsOf(const TableShape& table) { return table.rows * table.dim; }

// Parts of a table of raw ids; 0 of others.
int64_t PartsOf(const TableShape& table, const ManagedTableConfigs& managed) {
  const auto found = managed.find(table.name);
  return found == managed.end() ? 0 : found->second.num_parts;
}

TableSharder ByRows(const TableShape& table, const ManagedTableConfigs& managed) {
  const int64_t parts = PartsOf(table, managed);
  return parts > 0 ? RowWiseBuckets(parts) : RowWise();
}

TableSharder ByRowsIn(int host, const TableShape& table, const ManagedTableConfigs& managed) {
  const int64_t parts = PartsOf(table, managed);
  return parts > 0 ? TableRowWiseBuckets(host, parts) : TableRowWise(host);
}

// The largest first, each to the place (a rank, or a node) that has the least so far.
// sharder_at(place, table) is the table's sharder there.
template <typename SharderAt>
std::map<std::string, TableSharder> DealtOut(std::vector<TableShape> tables, int places,
                                             const SharderAt& sharder_at) {
  std::stable_sort(tables.begin(), tables.end(), [](const TableShape& a, const TableShape& b) {
    return ElementsOf(a) > ElementsOf(b);
  });
  std::vector<int64_t> elements(static_cast<size_t>(places), 0);
  std::map<std::string, TableSharder> sharders;
  for (const TableShape& table : tables) {
    const auto least = std::min_element(elements.begin(), elements.end());
    *least += ElementsOf(table);
    sharders[table.name] = sharder_at(static_cast<int>(least - elements.begin()), table);
  }
  return sharders;
}

std::map<std::string, TableSharder> DealtToRanks(std::vector<TableShape> tables, int ranks) {
  return DealtOut(std::move(tables), ranks,
                  [](int rank, const TableShape&) { return TableWise(rank); });
}

std::map<std::string, TableSharder> DealtToNodes(std::vector<TableShape> tables, int nodes,
                                                 const ManagedTableConfigs& managed) {
  return DealtOut(std::move(tables), nodes, [&](int host, const TableShape& table) {
    return ByRowsIn(host, table, managed);
  });
}

std::map<std::string, TableSharder> LargeOnesByRows(std::span<const TableShape> tables,
                                                    int world_size,
                                                    const ManagedTableConfigs& managed) {
  int64_t all = 0;
  for (const TableShape& table : tables) all += ElementsOf(table);
  std::vector<TableShape> others;
  std::map<std::string, TableSharder> sharders;
  for (const TableShape& table : tables) {
    if (ElementsOf(table) > all / world_size)
      sharders[table.name] = ByRows(table, managed);
    else
      others.push_back(table);
  }
  sharders.merge(DealtToRanks(std::move(others), world_size));
  return sharders;
}

std::map<std::string, TableSharder> AllByRows(std::span<const TableShape> tables,
                                              const ManagedTableConfigs& managed) {
  std::map<std::string, TableSharder> sharders;
  for (const TableShape& table : tables) sharders[table.name] = ByRows(table, managed);
  return sharders;
}

// An error about a plan, with the option that asked for it; files' errors begin with their path.
Error OfPlan(const std::string& choice, const Error& error) {
  const std::string_view plan = "plan: ", text = error.what();
  if (choice.empty()) return error;
  if (text.starts_with(choice + ":")) return Error(Format("--plan {}", text));
  return Error(
      Format("--plan {}: {}", choice, text.starts_with(plan) ? text.substr(plan.size()) : text));
}

// Calls fn, whose errors are about the plan.
template <typename Fn>
auto CallOnPlan(const std::string& choice, Fn&& fn) {
  try {
    return fn();
  } catch (const Error& error) {
    throw OfPlan(choice, error);
  }
}

void CheckRules(std::span<const EmbeddingBagConfig> tables, const ShardingPlan& plan) {
  for (const EmbeddingBagConfig& table : tables) {
    const TableSharding& sharding = plan.tables.at(table.name);
    const std::string rule = RuleName(table.optimizer);
    const bool is_dense = std::holds_alternative<Dense>(table.optimizer),
               is_copied = sharding.type == ShardingType::kDataParallel;
    CheckColumnCut(table.name, sharding, table.embedding_dim, rule);
    if (sharding.kernel == ComputeKernel::kDense && !is_dense && !is_copied)
      throw Error(
          Format("plan: table {}: its kernel is dense, its rule {}; expected another "
                 "kernel, or the rule dense",
                 table.name, rule));
    CheckLocationOfRule(table.name, LocationIn(&plan, table.name, table.location), table.optimizer);
  }
}

// The shards that have something.
std::vector<Shard> HeldOf(const TableSharding& sharding) {
  std::vector<Shard> held = sharding.shards;
  std::erase_if(held, [](const Shard& shard) { return shard.rows == 0 || shard.columns == 0; });
  return held;
}

// The ranks that a table of the type is cut for, had it as many rows or columns; 0 of other types.
size_t RanksOf(ShardingType type, const ShardingPlan& plan) {
  using enum ShardingType;
  if (type == kRowWise || type == kColumnWise) return static_cast<size_t>(plan.world_size);
  const bool in_a_node = type == kTableRowWise || type == kTableColumnWise;
  return in_a_node ? static_cast<size_t>(plan.local_size) : 0;
}

// "kinds [300, 4]".
std::string Shown(const std::string& name, const TableSharding& sharding) {
  int64_t rows = 0, columns = 0;
  for (const Shard& shard : sharding.shards) {
    rows = std::max(rows, shard.row_offset + shard.rows);
    columns = std::max(columns, shard.column_offset + shard.columns);
  }
  return Format("{} [{}, {}]", name, rows, columns);
}

TableSharder ByColumns(int world_size) {
  std::vector<int> ranks(static_cast<size_t>(world_size));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ColumnWise(std::move(ranks));
}

ShardingPlan PlanByWord(const std::string& word, const RankLayout& layout,
                        std::span<const TableShape> tables, const ManagedTableConfigs& managed) {
  const int ranks = layout.world_size;
  if (word.empty())
    return MakeShardingPlan(layout, tables, LargeOnesByRows(tables, ranks, managed));
  if (word == "table_wise")
    return MakeShardingPlan(layout, tables, DealtToRanks({tables.begin(), tables.end()}, ranks));
  if (word == "table_row_wise")
    return MakeShardingPlan(
        layout, tables,
        DealtToNodes({tables.begin(), tables.end()}, ranks / layout.local_size, managed));
  if (word == "row_wise") return MakeShardingPlan(layout, tables, AllByRows(tables, managed));
  if (word == "column_wise") return MakeShardingPlan(layout, tables, ByColumns(ranks));
  if (word == "data_parallel") return MakeShardingPlan(layout, tables, DataParallel());
  if (!IsThere(word))
    throw Error(
        "there is no such file, and plans by a word are auto, table_wise, row_wise, "
        "table_row_wise, column_wise and data_parallel");
  return ReadPlanFile(word, layout, tables);
}

}  // namespace

ShardingPlan MakeRanksPlan(const std::string& choice, const RankLayout& layout,
                           std::span<const TableShape> tables, const ManagedTableConfigs& managed) {
  return CallOnPlan(choice, [&] { return PlanByWord(choice, layout, tables, managed); });
}

void CheckPlanOfRules(std::span<const EmbeddingBagConfig> tables, const ShardingPlan& plan,
                      const std::string& choice) {
  CallOnPlan(choice, [&] { CheckRules(tables, plan); });
}

void CheckPlanOfRawIds(std::span<const EmbeddingBagConfig> tables,
                       const ManagedTableConfigs& managed, const ShardingPlan& plan,
                       const std::string& choice) {
  for (const EmbeddingBagConfig& table : tables) {
    const auto found = managed.find(table.name);
    const auto sharding = plan.tables.find(table.name);
    if (found == managed.end() || sharding == plan.tables.end()) continue;
    const int64_t parts = ShardedManagedTableOf(found->second, table).num_parts;
    const TableShape shape{table.name, table.num_embeddings, table.embedding_dim};
    CallOnPlan(choice, [&] { MakeHashParts(shape, sharding->second, parts); });
  }
}

std::vector<std::string> UncutTables(const ShardingPlan& plan, ShardingType type) {
  std::vector<std::string> uncut;
  const bool cuts = type != ShardingType::kDataParallel && type != ShardingType::kTableWise;
  if (!cuts || plan.world_size == 1) return uncut;
  for (const auto& [name, sharding] : plan.tables)
    if (sharding.type == type && HeldOf(sharding).size() == 1)
      uncut.push_back(Shown(name, sharding));
  return uncut;
}

std::vector<std::string> TablesOnFewerRanks(const ShardingPlan& plan, ShardingType type) {
  std::vector<std::string> tables;
  const size_t all = RanksOf(type, plan);
  for (const auto& [name, sharding] : plan.tables) {
    if (sharding.type != type) continue;
    const std::vector<Shard> held = HeldOf(sharding);
    std::set<int> ranks;
    for (const Shard& shard : held) ranks.insert(shard.rank);
    if (held.size() > 1 && ranks.size() < all)
      tables.push_back(Format("{} on {} of {}", Shown(name, sharding), ranks.size(), all));
  }
  return tables;
}

}  // namespace tessera
