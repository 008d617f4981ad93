#ifndef TESSERA_PLANNER_STATS_H_
#define TESSERA_PLANNER_STATS_H_
// Load of each rank under a plan, in numbers: TorchRec's report as plain data.
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "planner/planner.h"

namespace tessera {

struct RankStats {
  std::map<ShardingType, int64_t> shards;  // how many of each type
  ShardPerf perf;
  double perf_total = 0;
  int64_t sparse_hbm = 0;  // of tables alone
  // Bytes that the rank uses: its tables, the dense part and batches of ids. Every report of a plan
  // gives these.
  int64_t hbm = 0, ddr = 0, ssd = 0;
  double hbm_ratio = 0, ddr_ratio = 0;  // of what the rank has, less the share reserved
  int64_t input_bytes = 0, output_bytes = 0;
};

struct KernelStats {
  int64_t tables = 0, weight_bytes = 0, optimizer_bytes = 0;
  Storage storage;
};

// How far shares p_i of k ranks are from 1/k; 0 where all are alike, and where one rank alone makes
// the divisor 0.
struct Imbalance {
  double total_variation = 0;  // max |p − 1/k|
  double total_distance = 0;   // Σ |p − 1/k|
  double chi_divergence = 0;   // Σ k(p − 1/k)² / (((k−1)/k)²·k + (k−1)/k)
  double kl_divergence = 0;    // Σ p·ln(kp) / ln k
};

struct PlanStats {
  double reserved_hbm_share = 0, reserved_ddr_share = 0;
  Storage dense, kjt;  // dense part and batches of ids, of each rank
  std::vector<RankStats> ranks;
  std::map<PlanKernel, KernelStats> kernels;
  std::optional<Imbalance> perf, hbm, ddr;  // none where all is 0
  double max_perf = 0, mean_perf = 0;       // of ranks' totals
  ShardPerf max_parts;                      // the largest of each part
  double sum_of_maxima = 0;
  // Σ over (module, type, direction) of the largest rank's comms; Σ over directions of the largest
  // rank's compute.
  double critical_comms = 0, critical_compute = 0;
  // Tables that lie on every rank that is busiest (fullest), the dearest first.
  std::vector<std::string> tables_on_max_perf, tables_on_max_hbm;
};

// The statistics of tables as a plan has placed them; of `reserved` the parts that hold no tables.
PlanStats ComputeStats(const Topology& topology, const PlannerModel& model,
                       const std::vector<PlacedOption>& tables, const ReservedMemory& reserved);

// The plan as a table to read: tables, ranks, kernels, and what limits it.
std::string StatsText(const Topology& topology, const PlannerModel& model, const PlanResult& plan,
                      const PlanStats& stats);

}  // namespace tessera
#endif  // TESSERA_PLANNER_STATS_H_
