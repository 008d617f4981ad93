#include "planner/step_model/calibrated_estimator.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "planner/planner_error.h"
#include "runtime/check.h"

namespace tessera {
namespace {

constexpr double kMilliseconds = 1e3;
constexpr double kDefaultLoadFactor = 0.2;

DType TypeOf(RowDType type) {
  switch (type) {
    case RowDType::kFp32:
      return DType::kF32;
    case RowDType::kFp16:
      return DType::kF16;
    case RowDType::kBf16:
      return DType::kBF16;
    case RowDType::kInt8:
      return DType::kI8;
  }
  TESSERA_FAIL("unknown RowDType {}", static_cast<int>(type));
}

// Entry f of a list with one entry a feature, or, if it is short, its last one.
double EntryOf(const std::vector<double>& list, size_t f, double otherwise) {
  return list.empty() ? otherwise : list[std::min(f, list.size() - 1)];
}

StepFeature FeatureOf(const PlannerModel& model, const PlannerTable& table, size_t f,
                      const CalibratedOptions& options) {
  const TableConstraints& c = model.constraints_of(table);
  const double batch = EntryOf(c.batch_sizes, f, static_cast<double>(model.batch_size));
  StepFeature feature;
  feature.bags = batch * EntryOf(c.num_poolings, f, 1);
  feature.ids = feature.bags * EntryOf(c.pooling_factors, f, 1);
  feature.popularity = UniformRows(table.rows);
  if (f >= table.features.size()) return feature;
  const auto measured = options.statistics.find(table.features[f]);
  if (measured == options.statistics.end()) return feature;
  feature.ids = feature.bags * measured->second.pooling_factor();
  feature.popularity = measured->second.popularity;
  return feature;
}

// The shards of a run of equal ones, walked in the order of the plan: column block by column block.
class ShardWalk {
 public:
  explicit ShardWalk(int64_t table_rows) : table_rows_(table_rows) {}

  Shard At(const ShardRun& run) const { return {0, row_, column_, run.rows, run.columns}; }
  void Pass(const ShardRun& run, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      row_ = std::min(row_ + run.rows, table_rows_);
      if (row_ < table_rows_ || run.rows == 0) continue;
      row_ = 0;
      column_ += run.columns;
    }
  }

 private:
  int64_t table_rows_, row_ = 0, column_ = 0;
};

ShardPerf InMilliseconds(const RankSeconds& s) {
  ShardPerf perf;
  perf.fwd_compute = kMilliseconds * s.lookup;
  perf.fwd_comms = kMilliseconds * (s.input_dist + s.ids_wire + s.output_dist + s.rows_wire);
  perf.bwd_compute = kMilliseconds * s.update;
  perf.bwd_comms = kMilliseconds * (s.gradient_dist + s.gradients_wire);
  perf.input_dist = kMilliseconds * (s.input_dist + s.ids_wire);
  return perf;
}

bool HasRowShares(const StepTable& table) {
  return std::any_of(table.features.begin(), table.features.end(),
                     [](const StepFeature& f) { return !f.popularity.row_shares.empty(); });
}

int64_t RoundedUp(double bytes) { return static_cast<int64_t>(std::ceil(bytes)); }

}  // namespace

StepLoad StepLoadOf(const PlannerModel& model, const CalibratedOptions& options) {
  StepLoad load;
  load.codecs = options.codecs;
  load.dense_bytes = static_cast<double>(model.dense_parameter_bytes);
  for (const PlannerTable& t : model.tables) {
    StepTable table{.name = t.name, .rows = t.rows, .dim = t.dim};
    table.row_type = TypeOf(t.dtype);
    table.rule = t.optimizer.empty() ? "sgd" : t.optimizer;
    table.sequences = !IsPooled(model.module_of(t).kind);
    table.weighted = IsWeighted(model, t);
    const size_t features =
        std::max(t.features.size(), model.constraints_of(t).pooling_factors.size());
    for (size_t f = 0; f < features; ++f) table.features.push_back(FeatureOf(model, t, f, options));
    load.tables.push_back(std::move(table));
  }
  return load;
}

CalibratedPerfEstimator::CalibratedPerfEstimator(MachineProfile profile, const Topology& topology,
                                                 const PlannerModel& model,
                                                 const CalibratedOptions& options)
    : model_(std::move(profile), StepLoadOf(model, options),
             {topology.world_size, topology.local_world_size}) {}

ShardPerf CalibratedPerfEstimator::PerfOf(const ShardingOption& option, const Shard& shard) const {
  const ShardSeconds seconds =
      model_.PriceShard(option.table, option.type, shard, shard.column_offset == 0,
                        TrainedKernel(option.kernel).value());
  RankSeconds all = seconds.own;
  all += seconds.everyone * static_cast<double>(model_.layout().world_size);
  return InMilliseconds(all);
}

void CalibratedPerfEstimator::Estimate(const Topology& topology, const PlannerModel& model,
                                       ShardingOption& option) const {
  const auto t = static_cast<size_t>(option.table);
  TESSERA_CHECK(t < model_.load().tables.size() &&
                    topology.world_size == model_.layout().world_size &&
                    model_.load().tables[t].name == model.tables.at(t).name,
                "the calibrated estimator was made for another model or topology");
  if (!TrainedKernel(option.kernel))
    throw PlannerError(PlannerErrorKind::kNoKernelBandwidth,
                       Format("table {}: no prices of kernel {}, which the library does not run",
                              model_.load().tables[t].name, ToString(option.kernel)));
  const StepTable& table = model_.load().tables[t];
  const bool one_by_one = option.type != ShardingType::kDataParallel && HasRowShares(table);
  ShardWalk walk(table.rows);
  std::vector<ShardRun> runs;
  for (const ShardRun& run : option.shards)
    for (int64_t left = run.count; left > 0;) {
      ShardRun part = run;
      part.count = one_by_one ? 1 : left;
      part.perf = PerfOf(option, walk.At(run));
      left -= part.count;
      if (option.type != ShardingType::kDataParallel) walk.Pass(run, part.count);
      runs.push_back(part);
    }
  option.shards = std::move(runs);
}

CalibratedStorageEstimator::CalibratedStorageEstimator(const Topology& topology,
                                                       const PlannerModel& model,
                                                       const CalibratedOptions& options)
    : load_(StepLoadOf(model, options)),
      ranks_(topology.world_size),
      batches_in_flight_(options.batches_in_flight) {}

void CalibratedStorageEstimator::Estimate(const Topology& topology, const PlannerModel& model,
                                          ShardingOption& option) const {
  const auto t = static_cast<size_t>(option.table);
  const StepTable& table = load_.tables.at(t);
  const MemorySettings settings{&load_, ranks_, batches_in_flight_};
  const bool replica = option.type == ShardingType::kDataParallel,
             cpu = topology.compute_device == ComputeDevice::kCpu,
             caching = option.kernel == PlanKernel::kFusedUvmCaching,
             host = cpu || caching || option.kernel == PlanKernel::kFusedUvm;
  const double factor = option.cache_load_factor.value_or(
      model.sharder_of(model.tables.at(t)).cache_load_factor.value_or(kDefaultLoadFactor));
  ShardWalk walk(table.rows);
  for (ShardRun& run : option.shards) {
    ShardMemory memory;
    if (replica)
      memory.own = MemoryOfReplica(settings, table);
    else if (run.rows > 0)
      memory = MemoryOfShard(settings, table, walk.At(run));
    const MemoryBytes &own = memory.own, &home = memory.everyone;
    const double kept = own.rows + own.states;
    run.input_bytes = RoundedUp(own.input + ranks_ * home.input);
    run.output_bytes = RoundedUp(own.rows_moved + ranks_ * home.rows_moved);
    const int64_t step = run.input_bytes + run.output_bytes + RoundedUp(own.workspace);
    int64_t& device = cpu ? run.storage.ddr : run.storage.hbm;
    run.storage = {};
    device += step;
    (host ? run.storage.ddr : run.storage.hbm) += RoundedUp(kept);
    if (caching && !cpu) run.storage.hbm += RoundedUp(factor * kept);
    if (!replica) walk.Pass(run, run.count);
  }
}

}  // namespace tessera
