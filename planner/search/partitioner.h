#ifndef TESSERA_PLANNER_SEARCH_PARTITIONER_H_
#define TESSERA_PLANNER_SEARCH_PARTITIONER_H_
// TorchRec's partitioners: given one option a table, which rank takes which shard.
//
//   greedy_perf      uniform options first, shard i on rank i; then the others from the largest to
//                    the smallest (by storage or by perf), each shard to the least loaded rank that
//                    has room; host options inside the least loaded group that has room
//   memory_balanced  greedy_perf by perf, then again under the smallest cap on each rank's HBM,
//                    found by bisection, that makes the busiest rank at most `tolerance` busier
//
// Ties go to the rank that is first in its node, then to the first rank.
#include <optional>
#include <string>
#include <vector>

#include "planner/model/sharding_option.h"
#include "planner/model/topology.h"

namespace tessera {

enum class PartitionerKind { kGreedyPerf, kMemoryBalanced };
std::string ToString(PartitionerKind kind);  // "greedy_perf", "memory_balanced"
PartitionerKind ParsePartitionerKind(const std::string& name);
enum class SortBy { kStorage, kPerf };
std::string ToString(SortBy sort_by);  // "storage", "perf"
SortBy ParseSortBy(const std::string& name);

struct PartitionerSettings {
  PartitionerKind kind = PartitionerKind::kGreedyPerf;
  SortBy sort_by = SortBy::kStorage;
  bool balance_modules = false;  // modules of few tables first
  int max_search_count = 10;
  double tolerance = 0.02;
};

// One option a table.
using Proposal = std::vector<const ShardingOption*>;

struct Placement {
  std::vector<std::vector<int>> ranks;  // of each option's shards
  // The option that found no place; null if all did.
  const ShardingOption* failed = nullptr;
};

// `capacity` is what each rank has for tables. Never throws for want of room.
Placement Partition(const PartitionerSettings& settings, const Topology& topology,
                    const std::vector<Storage>& capacity, const Proposal& proposal);

// Σ of the totals of each rank's shards.
std::vector<double> RankPerf(int world_size, const Proposal& proposal, const Placement& placement);
std::vector<Storage> RankStorage(int world_size, const Proposal& proposal,
                                 const Placement& placement);

}  // namespace tessera
#endif  // TESSERA_PLANNER_SEARCH_PARTITIONER_H_
