#ifndef TESSERA_SHARDING_PLAN_PLAN_MAKERS_H_
#define TESSERA_SHARDING_PLAN_PLAN_MAKERS_H_
// Makes plans by hand, from one sharder a table, like TorchRec's plan constructors
// (torchrec/distributed/sharding_plan.py).
//
//   ShardingPlan plan = MakeShardingPlan({.world_size = 4, .local_size = 2}, tables,
//                                        {{"users", RowWise()}, {"items", ColumnWise({0, 2})}});
//
// Blocks are those of shard_sizes.h. What does not fit its table is an Error that names the table.
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "sharding/plan/plan.h"

namespace tessera {

// Ranks [0, world_size), of which local_size consecutive ones are a node.
struct RankLayout {
  int world_size = 1;
  int local_size = 1;
};

// Shards a table.
using TableSharder = std::function<TableSharding(const TableShape&, const RankLayout&)>;

// The whole table on every rank. Its kernel is kDense, as TorchRec says of such tables.
TableSharder DataParallel();
TableSharder TableWise(int rank);
// Equal blocks, the last ones shorter.
TableSharder RowWise();
// rows[r] rows for rank r; together all of the table's.
TableSharder RowWise(std::vector<int64_t> rows);
// Whole buckets of rows / num_buckets rows; the first num_buckets mod world_size ranks have one
// more than the others. Tables in parts by hash need such blocks (hash_parts.h).
TableSharder RowWiseBuckets(int64_t num_buckets);
// Column block j on ranks[j], which may name a rank more than once. REQUIRES: as many ranks as
// divide dim. ColumnBlock rounds blocks up: of dim 12 over two ranks, the first gets one block of
// 12, since 6 is not a multiple of 4, and the second nothing.
TableSharder ColumnWise(std::vector<int> ranks);
// columns[r] columns for rank r, each 1 or more; together all of the table's.
TableSharder ColumnWiseSizes(std::vector<int64_t> columns);
// Row blocks over the ranks of node `host`.
TableSharder TableRowWise(int host);
// Row blocks of whole buckets, as RowWiseBuckets has them, over the ranks of node `host`.
TableSharder TableRowWiseBuckets(int host, int64_t num_buckets);
// Like ColumnWise. REQUIRES: ranks of one node.
TableSharder TableColumnWise(std::vector<int> ranks);
// Column block j over the ranks of node hosts[j]. REQUIRES: one host for each block of at least
// min_partition columns.
TableSharder GridShard(std::vector<int> hosts, int64_t min_partition = 128);

// Returns the sharder with another kernel.
TableSharder WithKernel(TableSharder sharder, ComputeKernel kernel);

// A checked plan. Throws Error for a table without a sharder, and for a sharder without a table.
ShardingPlan MakeShardingPlan(const RankLayout& layout, std::span<const TableShape> tables,
                              const std::map<std::string, TableSharder>& sharders);
// One sharder for all tables.
ShardingPlan MakeShardingPlan(const RankLayout& layout, std::span<const TableShape> tables,
                              const TableSharder& sharder);

}  // namespace tessera
#endif  // TESSERA_SHARDING_PLAN_PLAN_MAKERS_H_
