#include "planner/step_model/calibrated_estimator.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "embedding/config/cache_size.h"
#include "embedding/storage/row_log.h"
#include "embedding/table/table_memory.h"
#include "planner/model/planner_error.h"
#include "runtime/base/check.h"
#include "sharding/kernel_location.h"

namespace tessera {
namespace {

constexpr double kMilliseconds = 1e3;

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
  const auto measured = options.statistics.find({table.name, table.features[f]});
  if (measured == options.statistics.end()) return feature;
  feature.ids = feature.bags * measured->second.pooling_factor();
  feature.popularity = measured->second.popularity;
  return feature;
}

bool HasRowShares(const StepTable& table) {
  return std::any_of(table.features.begin(), table.features.end(),
                     [](const StepFeature& f) { return !f.popularity.row_shares.empty(); });
}

// The number of shards of a run that cost as much as the next one, which begins at `row`. Blocks of
// rows differ by the rows' popularity, and one column block's differ from the next one's, whose ids
// are copies. Whole columns do not differ.
int64_t AlikeShards(const ShardRun& run, const StepTable& table, int64_t row, bool by_rows) {
  if (run.rows == 0 || run.rows == table.rows) return INT64_MAX;
  return by_rows ? 1 : (table.rows - row + run.rows - 1) / run.rows;
}

// Cuts the runs of an option where their shards differ in cost, and calls price(run, its first
// shard) for each.
template <typename Fn>
void PriceRuns(const StepTable& table, ShardingOption& option, Fn&& price) {
  const bool replicas = option.type == ShardingType::kDataParallel, by_rows = HasRowShares(table);
  std::vector<ShardRun> cut;
  int64_t row = 0, column = 0;
  for (const ShardRun& run : option.shards) {
    for (int64_t left = run.count; left > 0;) {
      ShardRun& part = cut.emplace_back(run);
      part.count = replicas ? left : std::min(left, AlikeShards(run, table, row, by_rows));
      left -= part.count;
      price(part, Shard{0, row, column, run.rows, run.columns});
      if (replicas || run.rows == 0) continue;
      const int64_t rows = row + part.count * run.rows;
      row = rows < table.rows ? rows : 0;
      if (row == 0) column += run.columns * std::max<int64_t>(1, rows / table.rows);
    }
  }
  option.shards = std::move(cut);
}

ShardPerf InMilliseconds(const RankSeconds& s) {
  ShardPerf perf;
  perf.fwd_compute = kMilliseconds * (s.lookup + s.tiers + s.disk);
  perf.fwd_comms = kMilliseconds * (s.input_dist + s.ids_wire + s.output_dist + s.rows_wire);
  perf.bwd_compute = kMilliseconds * s.update;
  perf.bwd_comms = kMilliseconds * (s.gradient_dist + s.gradients_wire);
  perf.input_dist = kMilliseconds * (s.input_dist + s.ids_wire);
  return perf;
}

// The dense part as one layer: each of its parameters, 4 bytes, takes part in a product and a sum
// for an example, and backward in two of each. Looks at no interaction, which has none.
std::vector<double> DenseFlopsOf(const PlannerModel& model) {
  if (model.dense_parameter_bytes == 0) return {};
  constexpr double kFlopsAParameter = 6, kBytesAParameter = 4;
  return {kFlopsAParameter / kBytesAParameter * static_cast<double>(model.batch_size) *
          static_cast<double>(model.dense_parameter_bytes)};
}

// The scratch file of a part of a table on disk; a part without rows has none.
int64_t FileBytes(const StepTable& table, const ShardRun& part) {
  if (part.rows == 0) return 0;
  const auto columns = static_cast<double>(part.columns);
  return RowLog::FileBytes(part.rows, part.columns * SizeOf(table.row_type) +
                                          std::llround(KeptBesideRow(table, columns)));
}

int64_t RoundedUp(double bytes) { return static_cast<int64_t>(std::ceil(bytes)); }

}  // namespace

StepLoad StepLoadOf(const PlannerModel& model, const CalibratedOptions& options) {
  StepLoad load;
  load.codecs = options.codecs;
  load.dense_flops = DenseFlopsOf(model);
  load.dense_bytes = static_cast<double>(model.dense_parameter_bytes);
  for (const PlannerTable& t : model.tables) {
    StepTable table{.name = t.name, .rows = t.rows, .dim = t.dim};
    table.row_type = ElementType(t.dtype);
    table.state_type = ElementType(t.state_dtype.value_or(RowDType::kFp32));
    table.rule = t.optimizer.empty() ? "sgd" : t.optimizer;
    table.kept_bytes = t.kept_bytes;
    table.sequences = !IsPooled(model.module_of(t).kind);
    table.weighted = IsWeighted(model, t);
    table.cache = model.cache_config(t);
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
  const std::optional<ComputeKernel> trained = TrainedKernel(option.kernel);
  const bool elsewhere =
      trained && LocationUnder(*trained, EmbeddingLocation::kDevice) != EmbeddingLocation::kDevice;
  if (elsewhere && !model_.profile().tiers.contains(*trained))
    throw PlannerError(PlannerErrorKind::kNoKernelBandwidth,
                       Format("table {}: the machine's profile has no price of rows under kernel "
                              "{}; tessera calibrate measures it",
                              model_.load().tables[t].name, ToString(option.kernel)));
  if (!trained)
    throw PlannerError(PlannerErrorKind::kNoKernelBandwidth,
                       Format("table {}: no prices of kernel {}, which the library does not run",
                              model_.load().tables[t].name, ToString(option.kernel)));
  PriceRuns(model_.load().tables[t], option,
            [&](ShardRun& run, const Shard& first) { run.perf = PerfOf(option, first); });
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
             on_disk = option.kernel == PlanKernel::kKeyValue,
             caching = option.kernel == PlanKernel::kFusedUvmCaching,
             cached = on_disk ||
                      (cpu ? model.is_cached_on_cpu(model.tables.at(t), option.kernel) : caching),
             host = cpu || caching || option.kernel == PlanKernel::kFusedUvm;
  const double factor =
      option.cache_load_factor.value_or(model.cache_load_factor(model.tables.at(t)));
  PriceRuns(table, option, [&](ShardRun& run, const Shard& first) {
    ShardMemory memory;
    if (replica)
      memory.own = MemoryOfReplica(settings, table);
    else if (run.rows > 0)
      memory = MemoryOfShard(settings, table, first);
    const MemoryBytes &own = memory.own, &home = memory.everyone;
    const double kept = own.rows + own.states;
    run.input_bytes = RoundedUp(own.input + ranks_ * home.input);
    run.output_bytes = RoundedUp(own.rows_moved + ranks_ * home.rows_moved);
    const int64_t step = run.input_bytes + run.output_bytes + RoundedUp(own.workspace);
    int64_t& device = cpu ? run.storage.ddr : run.storage.hbm;
    run.storage = {};
    device += step;
    if (on_disk) run.storage.ddr += kDiskIndexBytes * run.rows;
    int64_t& kept_in = on_disk ? run.storage.ssd : host ? run.storage.ddr : run.storage.hbm;
    kept_in += on_disk ? FileBytes(table, run) : RoundedUp(kept);
    if (const auto rows = static_cast<double>(run.rows); cached && run.rows > 0)
      device += RoundedUp(BytesOfLines(run.lines(factor), kept / rows));
  });
}

}  // namespace tessera
