#include "sharding/plan/shard_sizes.h"

#include <algorithm>
#include <numeric>

#include "runtime/base/check.h"

namespace tessera {
namespace {

constexpr int64_t kColumnMultiple = 4;
constexpr int kNobody = -1;

std::vector<int64_t> EvenBlocks(int64_t rows, int64_t ranks) {
  const int64_t block = (rows + ranks - 1) / ranks;
  std::vector<int64_t> sizes;
  for (int64_t r = 0; r < ranks; ++r)
    sizes.push_back(std::min(rows, (r + 1) * block) - std::min(rows, r * block));
  return sizes;
}

// Buckets of each rank.
std::vector<int64_t> EvenBuckets(int64_t buckets, int64_t ranks) {
  std::vector<int64_t> sizes(static_cast<size_t>(ranks), buckets / ranks);
  for (int64_t r = 0; r < buckets % ranks; ++r) ++sizes[static_cast<size_t>(r)];
  return sizes;
}

std::vector<int64_t> BucketsByMemory(int64_t buckets, const std::vector<double>& memory) {
  const double total = std::accumulate(memory.begin(), memory.end(), 0.0);
  std::vector<int64_t> sizes;
  int64_t left = buckets;
  for (size_t r = 0; r + 1 < memory.size(); ++r) {
    sizes.push_back(static_cast<int64_t>(static_cast<double>(buckets) * (memory[r] / total)));
    left -= sizes.back();
  }
  sizes.push_back(left);
  return sizes;
}

void CheckMemory(const std::vector<double>& memory, const TableShape& table, int world_size) {
  TESSERA_CHECK_EQ(static_cast<int>(memory.size()), world_size,
                   "table {}: device_memory_sizes, one a rank", table.name);
  for (const double m : memory)
    TESSERA_CHECK(m > 0, "table {}: device_memory_sizes: expected sizes above 0, got {}",
                  table.name, m);
}

void CheckOptionsOf(ShardingType type, const TableShape& table, const ShardSizeOptions& options) {
  const bool row_wise = type == ShardingType::kRowWise;
  TESSERA_CHECK(row_wise || options.device_memory_sizes.empty(),
                "table {}: device_memory_sizes are for row_wise, not for {}", table.name, type);
  TESSERA_CHECK(row_wise || type == ShardingType::kTableRowWise || !options.num_buckets,
                "table {}: num_buckets are for row_wise and table_row_wise, not for {}", table.name,
                type);
}

std::vector<int64_t> RowsOfRanks(const TableShape& table, int ranks,
                                 const ShardSizeOptions& options) {
  const bool by_memory = !options.device_memory_sizes.empty();
  if (by_memory) CheckMemory(options.device_memory_sizes, table, ranks);
  if (!by_memory && !options.num_buckets) return EvenBlocks(table.rows, ranks);
  const int64_t buckets = options.num_buckets.value_or(table.rows);
  TESSERA_CHECK(buckets > 0 && table.rows % buckets == 0,
                "table {}: expected a num_buckets that divides its {} rows, got {}", table.name,
                table.rows, buckets);
  std::vector<int64_t> sizes = by_memory ? BucketsByMemory(buckets, options.device_memory_sizes)
                                         : EvenBuckets(buckets, ranks);
  for (int64_t& size : sizes) size *= table.rows / buckets;
  return sizes;
}

std::vector<Shard> EvenColumns(const TableShape& table, int64_t min_partition) {
  const int64_t block = ColumnBlock(table.dim, min_partition);
  return ColumnBlocks(table, std::vector<int64_t>(static_cast<size_t>(table.dim / block), block));
}

std::vector<Shard> Grid(const TableShape& table, int local_size, int64_t min_partition) {
  std::vector<Shard> shards;
  for (const Shard& columns : EvenColumns(table, min_partition)) {
    for (Shard shard : RowBlocks(table, EvenBlocks(table.rows, local_size))) {
      shard.column_offset = columns.column_offset;
      shard.columns = columns.columns;
      shards.push_back(shard);
    }
  }
  return shards;
}

}  // namespace

int64_t ColumnBlock(int64_t dim, int64_t min_partition) {
  for (int64_t i = (min_partition + kColumnMultiple - 1) / kColumnMultiple * kColumnMultiple;
       i < dim; i += kColumnMultiple)
    if (dim % i == 0) return i;
  return dim;
}

std::vector<Shard> RowBlocks(const TableShape& table, const std::vector<int64_t>& rows) {
  std::vector<Shard> shards;
  int64_t offset = 0;
  for (const int64_t count : rows) {
    shards.push_back({kNobody, offset, 0, count, table.dim});
    offset += count;
  }
  return shards;
}

std::vector<Shard> ColumnBlocks(const TableShape& table, const std::vector<int64_t>& columns) {
  std::vector<Shard> shards;
  int64_t offset = 0;
  for (const int64_t count : columns) {
    shards.push_back({kNobody, 0, offset, table.rows, count});
    offset += count;
  }
  return shards;
}

std::vector<Shard> ShardSizes(ShardingType type, const TableShape& table, int world_size,
                              int local_size, const ShardSizeOptions& options) {
  TESSERA_CHECK(table.rows > 0 && table.dim > 0, "table {}: it is [{}, {}]", table.name, table.rows,
                table.dim);
  TESSERA_CHECK(world_size > 0 && local_size > 0, "world_size {}, local_size {}", world_size,
                local_size);
  TESSERA_CHECK_GT(options.min_partition, 0, "table {}: columns of a block", table.name);
  CheckOptionsOf(type, table, options);
  switch (type) {
    case ShardingType::kDataParallel:
      return std::vector<Shard>(static_cast<size_t>(world_size),
                                {kNobody, 0, 0, table.rows, table.dim});
    case ShardingType::kTableWise:
      return {{kNobody, 0, 0, table.rows, table.dim}};
    case ShardingType::kColumnWise:
    case ShardingType::kTableColumnWise:
      return EvenColumns(table, options.min_partition);
    case ShardingType::kRowWise:
      return RowBlocks(table, RowsOfRanks(table, world_size, options));
    case ShardingType::kTableRowWise:
      return RowBlocks(table, RowsOfRanks(table, local_size, options));
    case ShardingType::kGridShard:
      return Grid(table, local_size, options.min_partition);
  }
  TESSERA_FAIL("sharding type {}", static_cast<int>(type));
}

}  // namespace tessera
