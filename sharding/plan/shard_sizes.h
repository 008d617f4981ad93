#ifndef TESSERA_SHARDING_PLAN_SHARD_SIZES_H_
#define TESSERA_SHARDING_PLAN_SHARD_SIZES_H_
// How a table is cut under each sharding type: TorchRec's calculate_shard_sizes_and_offsets.
//
//   rows      block = ⌈rows / ranks⌉; block i begins at min(i·block, rows), so the last ones may be
//             short or empty
//   columns   block = the smallest i ≥ min_partition, i < dim, that divides dim and is a multiple
//             of 4; else dim
//
// row_wise cuts rows over all ranks, table_row_wise over local_size; column_wise and
// table_column_wise cut columns; grid_shard cuts columns, then the rows of each block over
// local_size.
#include <cstdint>
#include <optional>
#include <vector>

#include "sharding/plan/plan.h"

namespace tessera {

struct ShardSizeOptions {
  int64_t min_partition = 128;  // columns of a block, at least
  // For row_wise and table_row_wise: ranks get whole buckets of rows / num_buckets rows, the first
  // num_buckets mod ranks of them one more than the others.
  std::optional<int64_t> num_buckets = {};
  // For row_wise. One a rank, in any unit: rank r gets ⌊buckets · memory_r / Σ memory⌋ buckets (of
  // one row unless num_buckets says otherwise), the last rank what is left.
  std::vector<double> device_memory_sizes = {};
};

// The shards of a table in the order of plan.h, with rank -1: nobody has placed them. Throws Error
// for sizes that are not positive, and for options that do not fit the table or the type.
std::vector<Shard> ShardSizes(ShardingType type, const TableShape& table, int world_size,
                              int local_size, const ShardSizeOptions& options = {});

// The width of a column block.
int64_t ColumnBlock(int64_t dim, int64_t min_partition);

// [offset, offset + size) of consecutive blocks of the given sizes.
std::vector<Shard> RowBlocks(const TableShape& table, const std::vector<int64_t>& rows);
std::vector<Shard> ColumnBlocks(const TableShape& table, const std::vector<int64_t>& columns);

}  // namespace tessera
#endif  // TESSERA_SHARDING_PLAN_SHARD_SIZES_H_
