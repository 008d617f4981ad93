#ifndef TESSERA_PLANNER_SEARCH_ENUMERATOR_H_
#define TESSERA_PLANNER_SEARCH_ENUMERATOR_H_
// Every way to shard every table of a model that device, kind of module and constraints allow, with
// its price.
//
// A table's options stand together, sharding types outside, kernels inside. TorchRec's rules:
// tables of the module that hangs last in the model come first, and options are those of TorchRec
// 1.9.2. The build's: tables by full name, options are what this library trains: every sharding
// type, dense where data_parallel, else fused and, on a GPU, fused_uvm and fused_uvm_caching.
// Constraints filter both and reorder nothing; key_value needs one that lists it.
#include <optional>
#include <string>
#include <vector>

#include "planner/model/estimator.h"

namespace tessera {

enum class OptionRules { kTorchRec, kBuild };
std::string ToString(OptionRules rules);  // "torchrec", "build"

class EmbeddingEnumerator {
 public:
  // All must outlive this. Checks topology and model.
  EmbeddingEnumerator(const Topology& topology, const PlannerModel& model,
                      const PerfEstimator& perf, const StorageEstimator& storage,
                      OptionRules rules = OptionRules::kTorchRec);

  // Throws PlannerError for a table that has no option, naming what excludes it, and as the
  // estimators do. Tables of another device group are left out.
  std::vector<ShardingOption> Enumerate() const;

  // One option with shards of the given [rows, columns].
  ShardingOption Price(int table, ShardingType type, PlanKernel kernel,
                       const std::vector<Shard>& shards) const;
  // Returns the option with another kernel and cache.
  ShardingOption WithCache(const ShardingOption& option, PlanKernel kernel,
                           std::optional<double> load_factor) const;

 private:
  std::vector<ShardingType> TypesOf(const PlannerTable& table) const;
  std::vector<PlanKernel> KernelsOf(const PlannerTable& table, ShardingType type) const;
  void AddOptions(int table, std::vector<ShardingOption>& options) const;
  [[noreturn]] void ThrowNoOption(const PlannerTable& table) const;
  ShardingOption Unpriced(int table, ShardingType type, PlanKernel kernel) const;
  // Sets the lines of caches of a size in bytes, and the share of all shards' bytes that they hold.
  void SetCacheLines(ShardingOption& option) const;
  void Estimate(ShardingOption& option) const;

  const Topology& topology_;
  const PlannerModel& model_;
  const PerfEstimator& perf_;
  const StorageEstimator& storage_;
  OptionRules rules_;
};

// The shards of a table under a type, in the order of sharding/plan/plan.h, placed nowhere (rank
// -1).
std::vector<Shard> ShardsOf(const Topology& topology, const PlannerModel& model, int table,
                            ShardingType type);

}  // namespace tessera
#endif  // TESSERA_PLANNER_SEARCH_ENUMERATOR_H_
