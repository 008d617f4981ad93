#ifndef TESSERA_PLANNER_MODEL_SHARDING_OPTION_H_
#define TESSERA_PLANNER_MODEL_SHARDING_OPTION_H_
// One way to shard one table, with what each of its shards costs. Plain data.
//
// Shards that are alike and follow each other are one ShardRun, so that an option over thousands of
// ranks is a few numbers: shard 0 is the first of shards[0]. Times are milliseconds, storage is
// bytes.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "planner/model/plan_kernel.h"
#include "sharding/plan/plan.h"

namespace tessera {

// Milliseconds that a shard adds to its rank's step.
struct ShardPerf {
  double fwd_compute = 0, fwd_comms = 0, bwd_compute = 0, bwd_comms = 0, prefetch = 0;
  double input_dist = 0;  // of the ids; reported, in no total

  // Summed in this order.
  double total() const { return fwd_compute + bwd_compute + fwd_comms + bwd_comms + prefetch; }
  ShardPerf& operator+=(const ShardPerf& other);

  friend bool operator==(const ShardPerf&, const ShardPerf&) = default;
};

struct Storage {
  int64_t hbm = 0, ddr = 0, ssd = 0;

  bool FitsIn(const Storage& free) const {
    return hbm <= free.hbm && ddr <= free.ddr && ssd <= free.ssd;
  }
  Storage& operator+=(const Storage& other);
  Storage& operator-=(const Storage& other);
  friend Storage operator*(Storage storage, int64_t count);
  friend auto operator<=>(const Storage&, const Storage&) = default;  // hbm first, then ddr, ssd
};
// The larger of each memory.
Storage Largest(const Storage& a, const Storage& b);
Storage LargestOf(const std::vector<Storage>& ranks);
// "1.5 GiB HBM, 2.0 MiB DDR"
std::string ToString(const Storage& storage);

struct ShardRun {
  int64_t count = 1;
  int64_t rows = 0, columns = 0;  // of each shard
  ShardPerf perf = {};
  Storage storage = {};
  // Part of the storage: the ids that come in, and the rows that go out.
  int64_t input_bytes = 0, output_bytes = 0;
  // Lines of each shard's cache where its size is one in bytes; else the option's load factor says
  // them.
  std::optional<int64_t> cache_lines = {};

  double lines(double load_factor) const {
    return cache_lines ? static_cast<double>(*cache_lines)
                       : load_factor * static_cast<double>(rows);
  }
  // The share of a shard's rows that its cache holds.
  double cached_share(double load_factor) const {
    if (!cache_lines || rows == 0) return load_factor;
    return std::min(1.0, static_cast<double>(*cache_lines) / static_cast<double>(rows));
  }
};

// Ranks that may take the shards. kDevice: any; kHost: those of one group, in order or
// (table_column_wise) any of them; kMultiHost: those of several groups; kUniform: shard i on rank
// i.
enum class PartitionBy { kDevice, kHost, kMultiHost, kUniform };
std::string ToString(PartitionBy partition_by);  // "device", "host", "multi_host", "uniform"
PartitionBy PartitionByOf(ShardingType type);

struct ShardingOption {
  int table = 0;   // index into PlannerModel::tables
  int module = 0;  // index into PlannerModel::modules
  ShardingType type = ShardingType::kTableWise;
  PlanKernel kernel = PlanKernel::kFused;
  bool is_pooled = true, is_weighted = false;
  std::optional<double> cache_load_factor = {};
  std::vector<ShardRun> shards = {};
  // Options of host kind with the same key, if not empty, share one group of ranks.
  std::string dependency = {};

  PartitionBy partition_by() const { return PartitionByOf(type); }
  int64_t num_shards() const;
  double total_perf() const;  // Σ over shards, in order
  double max_perf() const;    // of the dearest shard
  Storage total_storage() const;
  Storage max_storage() const;  // the largest of each memory
  // Calls fn(index, run) for each shard in order.
  template <typename Fn>
  void ForEachShard(Fn&& fn) const {
    int64_t i = 0;
    for (const ShardRun& run : shards)
      for (int64_t k = 0; k < run.count; ++k) fn(i++, run);
  }
};

// A chosen option, and the rank of each of its shards.
struct PlacedOption {
  ShardingOption option;
  std::vector<int> ranks;
};

// Text of the distinct ranks: "0-7", "3", "0,2,5", "0,2,4,6,8,10,12,14 and 3 more".
std::string RanksText(const std::vector<int>& ranks);

}  // namespace tessera
#endif  // TESSERA_PLANNER_MODEL_SHARDING_OPTION_H_
