#ifndef TESSERA_SHARDING_PLAN_PLAN_H_
#define TESSERA_SHARDING_PLAN_PLAN_H_
// Which rank holds which part of which table, as plain data. Names are TorchRec's.
//
//   data_parallel      the whole table on every rank
//   table_wise         the whole table on one rank
//   column_wise        blocks of columns, on any ranks
//   row_wise           blocks of rows, block r on rank r
//   table_row_wise     blocks of rows over one node, block l on its local rank l
//   table_column_wise  blocks of columns, on ranks of one node
//   grid_shard         blocks of columns, each table_row_wise on a node of its own, with the same
//                      blocks of rows
//
// Nodes are runs of local_size consecutive ranks. Shards are listed column block by column block,
// rows ascending inside; those of data_parallel by rank. A block of rows may have none: its ids go
// nowhere.
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace tessera {

enum class ShardingType {
  kDataParallel,
  kTableWise,
  kColumnWise,
  kRowWise,
  kTableRowWise,
  kTableColumnWise,
  kGridShard
};
std::string ToString(ShardingType type);  // "data_parallel", …
// The inverse. Throws Error, which lists the names, for anything else.
ShardingType ParseShardingType(const std::string& name);

// How rows are kept and updated: kDense as an ordinary variable with a dense gradient, the others
// by a rule inside backward; kFused where the table's config says, kFusedUvm in memory of the host
// that kernels reach (EmbeddingLocation::kManaged), kFusedUvmCaching behind a cache of rows,
// kKeyValue on disk behind such a cache.
enum class ComputeKernel { kDense, kFused, kFusedUvm, kFusedUvmCaching, kKeyValue };
// "dense", "fused", "fused_uvm", "fused_uvm_caching", "key_value".
std::string ToString(ComputeKernel kernel);
ComputeKernel ParseComputeKernel(const std::string& name);

// A rectangle of a table, and who holds it.
struct Shard {
  int rank = 0;
  int64_t row_offset = 0, column_offset = 0, rows = 0, columns = 0;

  friend bool operator==(const Shard&, const Shard&) = default;
};
// "rank 2: rows 4 to 8, columns 0 to 16"; ends are not included.
std::string ToString(const Shard& shard);

struct TableSharding {
  ShardingType type = ShardingType::kTableWise;
  std::vector<Shard> shards;
  ComputeKernel kernel = ComputeKernel::kFused;

  friend bool operator==(const TableSharding&, const TableSharding&) = default;
};

struct ShardingPlan {
  int world_size = 1;
  int local_size = 1;                           // ranks of a node
  std::map<std::string, TableSharding> tables;  // by name

  friend bool operator==(const ShardingPlan&, const ShardingPlan&) = default;
};
// Tables with type, kernel and ranks, then their shards, as TorchRec prints a plan (which
// torchrec_plan.h reads).
std::string ToString(const ShardingPlan& plan);

// The properties of a table that a plan needs.
struct TableShape {
  std::string name;
  int64_t rows = 0, dim = 0;
};

// Throws Error naming table, shards and what is wrong: a table that the plan lacks or that nobody
// has, a rank that does not exist, a shard outside its table, gaps, overlaps, and shards that are
// not what their type says (above).
void CheckPlan(const ShardingPlan& plan, std::span<const TableShape> tables);

// Does the same for one table of a plan for `world_size` ranks.
void CheckTableSharding(const TableSharding& sharding, const TableShape& table, int world_size,
                        int local_size);

// Throws Error unless world_size is above 0 and local_size divides it.
void CheckRanks(const ShardingPlan& plan);

// Sorts shards into the order that the head of this file gives; checks nothing.
void SortShards(TableSharding& sharding);

}  // namespace tessera
#endif  // TESSERA_SHARDING_PLAN_PLAN_H_
