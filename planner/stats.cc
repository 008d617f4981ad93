#include "planner/stats.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

#include "planner/model/at.h"
#include "planner/torchrec/torchrec_estimators.h"

namespace tessera {
namespace {

using internal::At;

// Calls fn(rank, run) for each shard.
template <typename Fn>
void ForEachPlaced(const PlacedOption& placed, Fn&& fn) {
  placed.option.ForEachShard(
      [&](int64_t i, const ShardRun& run) { fn(placed.ranks[static_cast<size_t>(i)], run); });
}

std::optional<Imbalance> ComputeImbalance(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  if (sum <= 0) return {};
  const auto k = static_cast<double>(values.size());
  Imbalance out;
  double square = 0, entropy = 0;
  for (const double value : values) {
    const double p = value / sum, away = std::abs(p - 1 / k);
    out.total_variation = std::max(out.total_variation, away);
    out.total_distance += away;
    square += (p - 1 / k) * (p - 1 / k) * k;
    if (p > 0) entropy += p * std::log(k * p);
  }
  const double rest = (k - 1) / k, most = rest * rest * k + rest;
  out.chi_divergence = most == 0 ? 0 : square / most;
  out.kl_divergence = values.size() == 1 ? 0 : entropy / std::log(k);
  return out;
}

void AddKernels(const PlannerModel& model, const std::vector<PlacedOption>& tables,
                PlanStats& stats) {
  for (const PlacedOption& placed : tables) {
    const PlannerTable& table = model.tables[At(placed.option.table)];
    const int64_t weights = table.planned_rows() * table.planned_dim() * table.element_bytes();
    KernelStats& kernel = stats.kernels[placed.option.kernel];
    ++kernel.tables;
    kernel.weight_bytes += weights;
    kernel.optimizer_bytes +=
        static_cast<int64_t>(std::ceil(static_cast<double>(weights) * OptimizerMultiplier(table)));
    kernel.storage += placed.option.total_storage();
  }
}

void AddRanks(const Topology& topology, const std::vector<PlacedOption>& tables,
              const ReservedMemory& reserved, PlanStats& stats) {
  for (const PlacedOption& placed : tables) {
    ForEachPlaced(placed, [&](int r, const ShardRun& run) {
      RankStats& rank = stats.ranks[At(r)];
      ++rank.shards[placed.option.type];
      rank.perf += run.perf;
      rank.sparse_hbm += run.storage.hbm;
      rank.ddr += run.storage.ddr;
      rank.ssd += run.storage.ssd;
      rank.input_bytes += run.input_bytes;
      rank.output_bytes += run.output_bytes;
    });
  }
  const auto ratio = [](int64_t used, double of) {
    return of > 0 ? static_cast<double>(used) / of : 0;
  };
  for (int r = 0; r < topology.world_size; ++r) {
    RankStats& rank = stats.ranks[At(r)];
    rank.perf_total = rank.perf.total();
    rank.hbm = rank.sparse_hbm + stats.dense.hbm + stats.kjt.hbm;
    rank.ddr += stats.dense.ddr + stats.kjt.ddr;
    if (topology.compute_device != ComputeDevice::kCpu)
      rank.hbm_ratio =
          ratio(rank.hbm, (1 - reserved.hbm_share) * static_cast<double>(topology.hbm_of(r)));
    rank.ddr_ratio =
        ratio(rank.ddr, (1 - reserved.ddr_share) * static_cast<double>(topology.ddr_of(r)));
  }
}

void AddMaxima(PlanStats& stats) {
  ShardPerf& most = stats.max_parts;
  for (const RankStats& rank : stats.ranks) {
    most.fwd_compute = std::max(most.fwd_compute, rank.perf.fwd_compute);
    most.fwd_comms = std::max(most.fwd_comms, rank.perf.fwd_comms);
    most.bwd_compute = std::max(most.bwd_compute, rank.perf.bwd_compute);
    most.bwd_comms = std::max(most.bwd_comms, rank.perf.bwd_comms);
    most.prefetch = std::max(most.prefetch, rank.perf.prefetch);
    stats.max_perf = std::max(stats.max_perf, rank.perf_total);
    stats.mean_perf += rank.perf_total / static_cast<double>(stats.ranks.size());
  }
  stats.sum_of_maxima =
      most.fwd_compute + most.fwd_comms + most.bwd_compute + most.bwd_comms + most.prefetch;
}

void AddCriticalPath(const Topology& topology, const std::vector<PlacedOption>& tables,
                     PlanStats& stats) {
  using PerRank = std::vector<double>;
  std::map<std::tuple<int, ShardingType, bool>, PerRank> comms;
  PerRank compute[2] = {PerRank(At(topology.world_size)), PerRank(At(topology.world_size))};
  for (const PlacedOption& placed : tables) {
    PerRank* of[2];
    for (const bool backward : {false, true}) {
      of[backward] = &comms[{placed.option.module, placed.option.type, backward}];
      of[backward]->resize(At(topology.world_size));
    }
    ForEachPlaced(placed, [&](int r, const ShardRun& run) {
      (*of[0])[At(r)] += run.perf.fwd_comms;
      (*of[1])[At(r)] += run.perf.bwd_comms;
      compute[0][At(r)] += run.perf.fwd_compute;
      compute[1][At(r)] += run.perf.bwd_compute;
    });
  }
  const auto most = [](const PerRank& v) { return *std::max_element(v.begin(), v.end()); };
  for (const auto& [key, values] : comms) stats.critical_comms += most(values);
  stats.critical_compute = most(compute[0]) + most(compute[1]);
}

// The tables on all ranks with the largest Σ value(run).
template <typename Value>
std::vector<std::string> TablesOnMax(const PlannerModel& model, int world_size,
                                     const std::vector<PlacedOption>& tables, Value&& value) {
  using Number = decltype(value(ShardRun{}));
  std::vector<Number> sum(At(world_size));
  std::set<int> used, top;
  for (const PlacedOption& placed : tables)
    ForEachPlaced(placed, [&](int r, const ShardRun& run) {
      sum[At(r)] += value(run);
      used.insert(r);
    });
  if (used.size() <= 1) return {};
  Number most = sum[At(*used.begin())];
  for (const int r : used) most = std::max(most, sum[At(r)]);
  for (const int r : used)
    if (sum[At(r)] == most) top.insert(r);
  std::vector<const PlacedOption*> hit;
  for (const PlacedOption& placed : tables) {
    if (placed.option.partition_by() == PartitionBy::kUniform) continue;
    const std::set<int> own(placed.ranks.begin(), placed.ranks.end());
    if (std::includes(own.begin(), own.end(), top.begin(), top.end())) hit.push_back(&placed);
  }
  std::stable_sort(hit.begin(), hit.end(), [&](const PlacedOption* a, const PlacedOption* b) {
    return value(a->option.shards[0]) > value(b->option.shards[0]);
  });
  std::vector<std::string> names;
  for (const PlacedOption* placed : hit)
    names.push_back(model.full_name(model.tables[At(placed->option.table)]));
  return names;
}

}  // namespace

PlanStats ComputeStats(const Topology& topology, const PlannerModel& model,
                       const std::vector<PlacedOption>& tables, const ReservedMemory& reserved) {
  PlanStats stats;
  const bool cpu = topology.compute_device == ComputeDevice::kCpu;
  (cpu ? stats.dense.ddr : stats.dense.hbm) = reserved.dense_bytes;
  (cpu ? stats.kjt.ddr : stats.kjt.hbm) = reserved.kjt_bytes;
  stats.reserved_hbm_share = reserved.hbm_share;
  stats.reserved_ddr_share = reserved.ddr_share;
  stats.ranks.resize(At(topology.world_size));
  AddKernels(model, tables, stats);
  AddRanks(topology, tables, reserved, stats);
  AddMaxima(stats);
  AddCriticalPath(topology, tables, stats);
  std::vector<double> perf, hbm, ddr;
  for (const RankStats& rank : stats.ranks) {
    perf.push_back(rank.perf_total);
    hbm.push_back(static_cast<double>(rank.hbm));
    ddr.push_back(static_cast<double>(rank.ddr));
  }
  stats.perf = ComputeImbalance(perf);
  stats.hbm = ComputeImbalance(hbm);
  stats.ddr = ComputeImbalance(ddr);
  stats.tables_on_max_perf = TablesOnMax(model, topology.world_size, tables,
                                         [](const ShardRun& run) { return run.perf.total(); });
  stats.tables_on_max_hbm = TablesOnMax(model, topology.world_size, tables,
                                        [](const ShardRun& run) { return run.storage.hbm; });
  return stats;
}

}  // namespace tessera
