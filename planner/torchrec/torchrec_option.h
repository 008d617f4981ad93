#ifndef TESSERA_PLANNER_TORCHREC_TORCHREC_OPTION_H_
#define TESSERA_PLANNER_TORCHREC_TORCHREC_OPTION_H_
// The facts about a sharding option that both of TorchRec's estimators read.
#include <cmath>
#include <optional>

#include "planner/model/estimator.h"

namespace tessera::internal {

inline constexpr double kIdBytes = 8;

// The largest double of bytes that this library counts.
inline constexpr double kMaxBytes = 4611686018427387904.0;  // 2^62

inline int64_t CeilBytes(double bytes) {
  return bytes >= kMaxBytes ? int64_t{1} << 62 : static_cast<int64_t>(std::ceil(bytes));
}

struct OptionFacts {
  OptionFacts(const Topology& topology_in, const PlannerModel& model_in,
              const ShardingOption& option_in)
      : topology(topology_in),
        model(model_in),
        option(option_in),
        table(model.tables[static_cast<size_t>(option.table)]),
        constraints(model.constraints_of(table)),
        sharder(model.sharder_of(table)),
        kind(model.module_of(table).kind),
        pooled(IsPooled(kind)),
        weighted(IsWeighted(model, table)),
        load(LoadOf(model, table)),
        ranks(topology.world_size),
        element_bytes(static_cast<double>(table.element_bytes())) {}

  bool cuts_rows() const { return option.type == ShardingType::kRowWise || by_group(); }
  bool by_group() const {
    return option.type == ShardingType::kTableRowWise || option.type == ShardingType::kGridShard;
  }
  // Ranks that share the ids of one column block.
  double row_ranks() const {
    if (option.type == ShardingType::kRowWise) return ranks;
    return by_group() ? topology.group_size() : 1;
  }
  bool prefetch_pipeline() const {
    return (constraints.cache_params && constraints.cache_params->prefetch_pipeline) ||
           sharder.prefetch_pipeline;
  }
  // The share of rows in a shard's cache: of its lines, else the option's own, else the sharder's.
  std::optional<double> load_factor(const ShardRun& run) const {
    if (run.cache_lines) return run.cached_share(0);
    return option.cache_load_factor ? option.cache_load_factor : sharder.cache_load_factor;
  }

  const Topology& topology;
  const PlannerModel& model;
  const ShardingOption& option;
  const PlannerTable& table;
  const TableConstraints& constraints;
  const SharderSettings& sharder;
  ModuleKind kind;
  bool pooled, weighted;
  TableLoad load;
  double ranks;  // W
  double element_bytes;
};

}  // namespace tessera::internal
#endif  // TESSERA_PLANNER_TORCHREC_TORCHREC_OPTION_H_
