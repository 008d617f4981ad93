#include <algorithm>

#include "planner/model/planner_error.h"
#include "planner/torchrec/torchrec_estimators.h"
#include "planner/torchrec/torchrec_option.h"

namespace tessera {
namespace {

using internal::kIdBytes;
using internal::OptionFacts;

constexpr double kFewestColumns = 32;  // that a lookup of whole columns is charged for
constexpr double kWeightedBackward = 1.1, kBatchedCopy = 2.455, kElementwise = 9.22;
constexpr double kDefaultLoadFactor = 0.2, kUvmSlowdown = 10;

// Narrow rows waste a part of a warp.
double ColumnPenalty(int64_t columns) { return columns >= 128 ? 1.0 : columns >= 64 ? 1.15 : 1.75; }

// The prices that depend on nothing of a shard but the share of its rows in a cache.
struct Pricer {
  Pricer(const OptionFacts& facts, std::optional<double> load_factor) : f(facts) {
    const double t = f.element_bytes;
    const std::optional<CommBytes>& all =
        f.pooled ? f.sharder.pooled_all_to_all : f.sharder.sequence_all_to_all;
    all_to_all = all.value_or(CommBytes{t, t});
    scatter = CommBytes{t, t};
    if (f.pooled) scatter = f.sharder.pooled_reduce_scatter.value_or(scatter);
    kernel_bw = KernelBandwidth(f.topology, f.option.kernel, load_factor, f.prefetch_pipeline());
    id_factor = f.weighted ? 2 : 1;
    misses = Misses(load_factor);
    if (f.option.type != ShardingType::kDataParallel)
      input_dist =
          std::ceil(f.load.ids * f.ranks * kIdBytes) /
          Bandwidth(Collective::kAllToAll, f.topology.world_size, f.topology.local_world_size);
  }

  double Bandwidth(Collective collective, int world, int local) const {
    return CollectiveBandwidthOf(f.topology, collective, world, local);
  }

  // The number of rows that a rank's cache has to fetch, over the whole table.
  double Misses(std::optional<double> load_factor) const {
    if (f.option.kernel != PlanKernel::kFusedUvmCaching || !load_factor) return 0;
    if (!f.constraints.cache_params || !f.constraints.cache_params->statistics) return 0;
    const CacheStatistics& statistics = *f.constraints.cache_params->statistics;
    return MissRate(statistics, *load_factor) * statistics.expected_lookups;
  }

  // A shard's times from the bytes touched in the forward and the two directions' comms.
  ShardPerf Perf(double bytes, double fwd_comms, double bwd_comms, double fetches, double columns,
                 double penalty = 1) const {
    ShardPerf p;
    p.fwd_compute = bytes * penalty / kernel_bw;
    p.fwd_comms = fwd_comms;
    p.bwd_comms = bwd_comms;
    p.bwd_compute = p.fwd_compute * f.topology.bwd_compute_multiplier;
    if (f.weighted)
      p.bwd_compute = p.bwd_compute * f.topology.weighted_feature_bwd_compute_multiplier +
                      p.fwd_compute * kWeightedBackward;
    if (f.model.estimator.is_inference) p.bwd_compute = p.bwd_comms = 0;
    p.prefetch = fetches * columns * f.element_bytes / f.topology.hbm_to_ddr_mem_bw;
    p.input_dist = input_dist;
    return p;
  }

  ShardPerf Columns(double columns) const {
    const double ids = f.load.ids, w = f.ranks;
    const double read = std::ceil(ids * w * kIdBytes) * id_factor;
    const double look = ids * w * std::max(columns, kFewestColumns) * f.element_bytes;
    const double out = f.load.outputs * w * columns * all_to_all.forward;
    const double back = f.load.outputs * w * columns * all_to_all.backward;
    const double bw =
        Bandwidth(Collective::kAllToAll, f.topology.world_size, f.topology.local_world_size);
    return Perf(read + look + out, out / bw, back / bw, misses, columns,
                ColumnPenalty(static_cast<int64_t>(columns)));
  }

  // Bytes of outputs over the ranks of a cut of rows.
  double RowOutputs(double columns, double pooled_bytes, double sequence_bytes) const {
    return f.pooled ? f.load.outputs * f.ranks * columns * pooled_bytes
                    : f.load.outputs / f.row_ranks() * f.ranks * columns * sequence_bytes;
  }
  double RowBytes(double columns, double out) const {
    const double ids = f.load.ids / f.row_ranks(), w = f.ranks;
    return std::ceil(ids * w * kIdBytes) * id_factor + ids * w * columns * f.element_bytes + out;
  }

  ShardPerf RowWise(double columns) const {
    const int w = f.topology.world_size, local = f.topology.local_world_size;
    const double out = RowOutputs(columns, scatter.forward, all_to_all.forward);
    const double back = RowOutputs(columns, scatter.backward, all_to_all.backward);
    return Perf(
        RowBytes(columns, out), out / Bandwidth(Collective::kReduceScatter, w, local),
        back / Bandwidth(Collective::kAllGather, w, local) + back * kBatchedCopy / kernel_bw,
        misses / f.row_ranks(), columns);
  }

  // The time to send the sums of one group to the others.
  double BetweenGroups(double columns, double bytes) const {
    const int groups = std::max(1, f.topology.world_size / f.topology.group_size());
    if (groups == 1) return 0;
    return f.load.outputs * groups * columns * bytes / Bandwidth(Collective::kAllToAll, groups, 1);
  }

  ShardPerf GroupRows(double columns) const {
    const int group = f.topology.group_size(), local = std::min(group, f.topology.local_world_size);
    const double out = RowOutputs(columns, scatter.forward, scatter.forward);
    const double back = RowOutputs(columns, scatter.backward, scatter.backward);
    const double fwd = out / Bandwidth(Collective::kReduceScatter, group, local) +
                       BetweenGroups(columns, all_to_all.forward);
    const double bwd = BetweenGroups(columns, all_to_all.backward) +
                       back / Bandwidth(Collective::kAllGather, group, local) +
                       back * kBatchedCopy / kernel_bw;
    return Perf(RowBytes(columns, out), fwd, bwd, misses / f.row_ranks(), columns);
  }

  ShardPerf Whole(double rows, double columns) const {
    const int w = f.topology.world_size, local = f.topology.local_world_size;
    const double read = std::ceil(f.load.ids * kIdBytes) * id_factor;
    const double look = f.load.ids * columns * f.element_bytes;
    const double out = f.load.outputs * columns * f.element_bytes;
    const double table = rows * columns * f.element_bytes;
    const double nodes = std::min(f.ranks / local, 2.0);
    const double reduce =
        table * (2 * nodes - 1) / nodes / Bandwidth(Collective::kAllReduce, w, local);
    const double bwd = reduce * (w > 2 * local ? 2 : 1) + table * kElementwise / kernel_bw;
    return Perf(read + look + out, 0, bwd, 0, columns);
  }

  ShardPerf Of(const ShardRun& run) const {
    const auto columns = static_cast<double>(run.columns);
    switch (f.option.type) {
      case ShardingType::kTableWise:
      case ShardingType::kColumnWise:
      case ShardingType::kTableColumnWise:
        return Columns(columns);
      case ShardingType::kRowWise:
        return RowWise(columns);
      case ShardingType::kTableRowWise:
      case ShardingType::kGridShard:
        return GroupRows(columns);
      case ShardingType::kDataParallel:
        return Whole(static_cast<double>(run.rows), columns);
    }
    TESSERA_FAIL("sharding type {}", static_cast<int>(f.option.type));
  }

  const OptionFacts& f;
  CommBytes all_to_all, scatter;
  double kernel_bw = 0, id_factor = 1, misses = 0, input_dist = 0;
};

}  // namespace

double KernelBandwidth(const Topology& t, PlanKernel kernel,
                       std::optional<double> cache_load_factor, bool prefetch_pipeline) {
  const double main = t.compute_device == ComputeDevice::kCpu ? t.ddr_mem_bw : t.hbm_mem_bw;
  if (kernel == PlanKernel::kDense) return 0.5 * main;
  if (kernel == PlanKernel::kFused || kernel == PlanKernel::kQuant) return main;
  if (t.compute_device != ComputeDevice::kCuda)
    throw PlannerError(PlannerErrorKind::kNoKernelBandwidth,
                       Format("kernel {}: a {} has no such kernel (there is dense, fused, quant)",
                              kernel, t.compute_device));
  const double pcie = t.hbm_to_ddr_mem_bw, r = cache_load_factor.value_or(kDefaultLoadFactor);
  if (kernel == PlanKernel::kFusedTriton ||
      (kernel == PlanKernel::kFusedUvmCaching && prefetch_pipeline))
    return t.hbm_mem_bw;
  if (kernel == PlanKernel::kFusedUvm || kernel == PlanKernel::kQuantUvm)
    return pcie / kUvmSlowdown;
  if (kernel == PlanKernel::kFusedUvmCaching || kernel == PlanKernel::kQuantUvmCaching)
    return (r * t.hbm_mem_bw + (1 - r) * pcie) / kUvmSlowdown;
  return kernel == PlanKernel::kKeyValue ? t.ssd_mem_bw : pcie;
}

double MissRate(const CacheStatistics& statistics, double load_factor) {
  const std::vector<double>& h = statistics.histogram;
  double total = 0, hits = 0;
  for (const double count : h) total += count;
  if (total == 0) return 0;
  const auto edge = [&](size_t i) {
    return static_cast<float>(statistics.height / static_cast<double>(h.size()) *
                              static_cast<double>(i));
  };
  const float cached = static_cast<float>(load_factor * statistics.height) - 1.0f;
  size_t below = 0;
  for (size_t i = 0; i <= h.size(); ++i) below += edge(i) <= cached;
  if (below == 0) return 1;
  if (below == h.size() + 1) return 0;
  for (size_t i = 0; i < below; ++i) hits += h[i];
  return 1.0f - static_cast<float>(hits / total);
}

void TorchRecPerfEstimator::Estimate(const Topology& topology, const PlannerModel& model,
                                     ShardingOption& option) const {
  const OptionFacts facts(topology, model, option);
  for (ShardRun& run : option.shards) run.perf = Pricer(facts, facts.load_factor(run)).Of(run);
}

}  // namespace tessera
