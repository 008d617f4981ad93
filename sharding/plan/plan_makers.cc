#include "sharding/plan/plan_makers.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "runtime/base/check.h"
#include "sharding/plan/shard_sizes.h"

namespace tessera {
namespace {

void CheckHost(int host, const TableShape& table, const RankLayout& layout) {
  const int hosts = layout.world_size / layout.local_size;
  if (host < 0 || host >= hosts)
    throw Error(Format("table {}: host {}: there are hosts 0 to {}", table.name, host, hosts - 1));
}

void CheckSum(const std::vector<int64_t>& sizes, int64_t all, const char* what,
              const TableShape& table, const RankLayout& layout) {
  if (static_cast<int>(sizes.size()) > layout.world_size)
    throw Error(Format("table {}: sizes for {} ranks, but there are {}", table.name, sizes.size(),
                       layout.world_size));
  const int64_t sum = std::accumulate(sizes.begin(), sizes.end(), int64_t{0});
  if (sum != all)
    throw Error(
        Format("table {}: expected sizes of {} {} together, got {}", table.name, all, what, sum));
}

std::string Listed(const std::vector<int>& numbers) {
  std::string text;
  for (const int n : numbers) text += (text.empty() ? "" : ", ") + std::to_string(n);
  return "[" + text + "]";
}

// Puts shard i on rank first + i.
TableSharding OnConsecutiveRanks(ShardingType type, std::vector<Shard> shards, int first) {
  int rank = first;
  for (Shard& shard : shards) shard.rank = rank++;
  return {.type = type, .shards = std::move(shards)};
}

// Puts blocks of the usual sizes, or of whole buckets, on consecutive ranks.
TableSharding Even(ShardingType type, int first, const TableShape& table, const RankLayout& layout,
                   std::optional<int64_t> num_buckets = {}) {
  return OnConsecutiveRanks(
      type,
      ShardSizes(type, table, layout.world_size, layout.local_size, {.num_buckets = num_buckets}),
      first);
}

TableSharding ColumnsOnRanks(ShardingType type, const std::vector<int>& ranks,
                             const TableShape& table, const RankLayout& layout) {
  const int64_t count = static_cast<int64_t>(ranks.size());
  if (count == 0 || table.dim % count != 0)
    throw Error(Format("table {} ({}): expected a dim that its {} ranks {} divide, got {}",
                       table.name, type, count, Listed(ranks), table.dim));
  TableSharding sharding{.type = type,
                         .shards = ShardSizes(type, table, layout.world_size, layout.local_size,
                                              {.min_partition = table.dim / count})};
  for (size_t j = 0; j < sharding.shards.size(); ++j) sharding.shards[j].rank = ranks[j];
  return sharding;
}

TableSharder OverNode(int host, std::optional<int64_t> num_buckets) {
  return [=](const TableShape& table, const RankLayout& layout) {
    CheckHost(host, table, layout);
    return Even(ShardingType::kTableRowWise, host * layout.local_size, table, layout, num_buckets);
  };
}

}  // namespace

TableSharder DataParallel() {
  return [](const TableShape& table, const RankLayout& layout) {
    TableSharding sharding = Even(ShardingType::kDataParallel, 0, table, layout);
    sharding.kernel = ComputeKernel::kDense;
    return sharding;
  };
}

TableSharder TableWise(int rank) {
  return [rank](const TableShape& table, const RankLayout& layout) {
    return Even(ShardingType::kTableWise, rank, table, layout);
  };
}

TableSharder RowWise() {
  return [](const TableShape& table, const RankLayout& layout) {
    return Even(ShardingType::kRowWise, 0, table, layout);
  };
}

TableSharder RowWise(std::vector<int64_t> rows) {
  return [rows = std::move(rows)](const TableShape& table, const RankLayout& layout) {
    CheckSum(rows, table.rows, "rows", table, layout);
    return OnConsecutiveRanks(ShardingType::kRowWise, RowBlocks(table, rows), 0);
  };
}

TableSharder RowWiseBuckets(int64_t num_buckets) {
  return [num_buckets](const TableShape& table, const RankLayout& layout) {
    return Even(ShardingType::kRowWise, 0, table, layout, num_buckets);
  };
}

TableSharder ColumnWise(std::vector<int> ranks) {
  return [ranks = std::move(ranks)](const TableShape& table, const RankLayout& layout) {
    return ColumnsOnRanks(ShardingType::kColumnWise, ranks, table, layout);
  };
}

TableSharder ColumnWiseSizes(std::vector<int64_t> columns) {
  return [columns = std::move(columns)](const TableShape& table, const RankLayout& layout) {
    for (size_t r = 0; r < columns.size(); ++r)
      if (columns[r] < 1)
        throw Error(Format("table {}: expected at least 1 column for rank {}, got {}", table.name,
                           r, columns[r]));
    CheckSum(columns, table.dim, "columns", table, layout);
    return OnConsecutiveRanks(ShardingType::kColumnWise, ColumnBlocks(table, columns), 0);
  };
}

TableSharder TableRowWise(int host) { return OverNode(host, {}); }

TableSharder TableRowWiseBuckets(int host, int64_t num_buckets) {
  return OverNode(host, num_buckets);
}

TableSharder TableColumnWise(std::vector<int> ranks) {
  return [ranks = std::move(ranks)](const TableShape& table, const RankLayout& layout) {
    return ColumnsOnRanks(ShardingType::kTableColumnWise, ranks, table, layout);
  };
}

TableSharder GridShard(std::vector<int> hosts, int64_t min_partition) {
  return [hosts = std::move(hosts), min_partition](const TableShape& table,
                                                   const RankLayout& layout) {
    constexpr ShardingType kType = ShardingType::kGridShard;
    TableSharding sharding{.type = kType,
                           .shards = ShardSizes(kType, table, layout.world_size, layout.local_size,
                                                {.min_partition = min_partition})};
    const size_t local = static_cast<size_t>(layout.local_size);
    if (sharding.shards.size() != hosts.size() * local)
      throw Error(Format("table {}: its {} columns make {} blocks, got the hosts {}", table.name,
                         table.dim, sharding.shards.size() / local, Listed(hosts)));
    for (size_t i = 0; i < sharding.shards.size(); ++i) {
      const int host = hosts[i / local];
      CheckHost(host, table, layout);
      sharding.shards[i].rank = host * layout.local_size + static_cast<int>(i % local);
    }
    return sharding;
  };
}

TableSharder WithKernel(TableSharder sharder, ComputeKernel kernel) {
  return [sharder = std::move(sharder), kernel](const TableShape& table, const RankLayout& layout) {
    TableSharding sharding = sharder(table, layout);
    sharding.kernel = kernel;
    return sharding;
  };
}

ShardingPlan MakeShardingPlan(const RankLayout& layout, std::span<const TableShape> tables,
                              const std::map<std::string, TableSharder>& sharders) {
  ShardingPlan plan{.world_size = layout.world_size, .local_size = layout.local_size, .tables = {}};
  CheckRanks(plan);
  for (const auto& [name, sharder] : sharders) {
    const auto table = std::find_if(tables.begin(), tables.end(),
                                    [&](const TableShape& t) { return t.name == name; });
    if (table == tables.end()) throw Error(Format("plan: there is no table {}", name));
    TESSERA_CHECK(sharder != nullptr, "plan: table {}: its TableSharder is empty", name);
    plan.tables[name] = sharder(*table, layout);
  }
  CheckPlan(plan, tables);
  return plan;
}

ShardingPlan MakeShardingPlan(const RankLayout& layout, std::span<const TableShape> tables,
                              const TableSharder& sharder) {
  std::map<std::string, TableSharder> sharders;
  for (const TableShape& table : tables) sharders[table.name] = sharder;
  return MakeShardingPlan(layout, tables, sharders);
}

}  // namespace tessera
