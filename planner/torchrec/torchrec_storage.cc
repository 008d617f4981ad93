#include <algorithm>
#include <bit>

#include "optim/state_bytes.h"
#include "planner/step_model/rule_by_name.h"
#include "planner/torchrec/torchrec_estimators.h"
#include "planner/torchrec/torchrec_option.h"

namespace tessera {
namespace {

using internal::CeilBytes;
using internal::kIdBytes;
using internal::OptionFacts;
using Wide = __int128;

constexpr double kDefaultRatio = 0.2;
constexpr double kCacheBytesARow = 4, kCacheBytesASlot = 16;
constexpr int64_t kQuantBytesARow = 4;

// ⌈x⌉, where x is the double nearest to numerator / denominator.
int64_t CeilOfQuotient(Wide numerator, Wide denominator) {
  const auto whole = static_cast<int64_t>(numerator / denominator);
  const Wide rest = numerator % denominator;
  if (rest == 0) return whole;
  if (whole == 0) return 1;
  // The double is `whole` itself if the rest is less than half of its last place.
  const int exponent = std::bit_width(static_cast<uint64_t>(whole)) - 1;
  if (exponent > 52) return static_cast<int64_t>(static_cast<double>(whole));
  const Wide half_places = rest << (53 - exponent);
  if (half_places != denominator) return whole + (half_places > denominator);
  return whole + (exponent == 52 && whole % 2 == 1);
}

struct Sizer {
  Sizer(const OptionFacts& facts, std::optional<double> load_factor)
      : f(facts),
        inference(f.model.estimator.is_inference),
        cached(IsCached(f.option.kernel)),
        ratio(load_factor.value_or(0)) {
    if (ratio == 0) ratio = kDefaultRatio;
    multiplier = OptimizerMultiplier(f.table);
    whole = f.table.planned_rows() * f.table.planned_dim() * f.table.element_bytes();
    if (IsQuantized(f.kind)) whole += kQuantBytesARow * f.table.planned_rows();
    (InDdr() ? ddr : hbm) = whole;
    raw_hbm = hbm;
    if (cached) hbm = static_cast<int64_t>(std::nearbyint(static_cast<double>(ddr) * ratio));
  }

  bool InDdr() const {
    const PlanKernel k = f.option.kernel;
    const ComputeDevice device = f.topology.compute_device;
    const bool uvm = IsQuantized(f.kind)
                         ? k == PlanKernel::kQuantUvm || k == PlanKernel::kQuantUvmCaching
                         : k == PlanKernel::kFusedUvm || k == PlanKernel::kFusedUvmCaching;
    return uvm || device == ComputeDevice::kCpu ||
           (device == ComputeDevice::kMtia && IsQuantized(f.kind));
  }

  // The shard's share of `bytes` of the table, with its optimizer's.
  int64_t Part(int64_t bytes, const ShardRun& run, bool with_cache) const {
    int64_t share = bytes;
    if (f.option.type != ShardingType::kDataParallel)
      share = CeilOfQuotient(Wide{bytes} * run.rows * run.columns,
                             Wide{f.table.planned_rows()} * f.table.planned_dim());
    if (inference) return share;
    const int64_t aux = with_cache ? CeilBytes(static_cast<double>(run.rows) *
                                               (kCacheBytesARow + ratio * kCacheBytesASlot))
                                   : 0;
    return aux + share + CeilBytes(static_cast<double>(share) * multiplier);
  }

  int64_t KeyValueHbm() const {
    const int64_t l1 = f.constraints.key_value_params
                           ? f.constraints.key_value_params->max_l1_cache_size.value_or(0)
                           : 0;
    const double rows = static_cast<double>(f.table.planned_rows()) *
                        f.sharder.cache_load_factor.value_or(kDefaultRatio) * f.element_bytes *
                        static_cast<double>(f.table.planned_dim());
    return std::min(l1 << 20, CeilBytes(rows));
  }

  void SetBatch(ShardRun& run) const {
    const bool empty = f.cuts_rows() && run.rows * run.columns == 0;
    run.input_bytes = empty ? 0 : CeilBytes(f.load.ids / f.row_ranks() * Batches() * kIdBytes);
    run.output_bytes = empty ? 0 : OutputBytes(run, f.element_bytes);
  }
  double Batches() const { return f.option.type == ShardingType::kDataParallel ? 1 : f.ranks; }
  int64_t OutputBytes(const ShardRun& run, double element_bytes) const {
    const double outputs = f.pooled ? f.load.outputs : f.load.ids / f.row_ranks();
    return CeilBytes(outputs * Batches() * static_cast<double>(run.columns) * element_bytes);
  }

  // The memory of batches in flight.
  int64_t Pipeline(int64_t input, int64_t output) const {
    if (inference) return 0;
    const EstimatorSettings& e = f.model.estimator;
    const int64_t peak = e.run_embedding_at_peak_memory ? output : 0;
    if (e.pipeline_type == PipelineType::kTrainSparseDist) return 2 * input + peak;
    if (e.pipeline_type != PipelineType::kTrainPrefetchSparseDist) return input + output;
    double passes =
        f.constraints.cache_params ? f.constraints.cache_params->num_passes.value_or(1) : 1;
    if (passes == 0) passes = 1;
    const auto prefetched = static_cast<double>(cached ? input : 0);
    const double bytes = std::min((1 + 6 / passes) * prefetched, internal::kMaxBytes);
    return 3 * input + static_cast<int64_t>(bytes) + peak;
  }

  void Set(ShardRun& run) const {
    SetBatch(run);
    const bool key_value = IsKeyValue(f.option.kernel) || f.constraints.use_virtual_table;
    const int64_t hbm_part = key_value ? KeyValueHbm() : Part(hbm, run, cached);
    const int64_t ddr_part = key_value ? 0 : Part(ddr, run, false);
    const int64_t output =
        run.input_bytes == 0 && run.output_bytes == 0 ? 0 : OutputBytes(run, OutputElementBytes());
    const bool on_cpu = f.topology.compute_device == ComputeDevice::kCpu;
    run.storage.hbm = on_cpu ? 0 : hbm_part + Pipeline(run.input_bytes, output);
    run.storage.ddr = ddr_part + (on_cpu && !inference ? run.input_bytes + output : 0);
    run.storage.ssd = f.option.kernel == PlanKernel::kKeyValue
                          ? Part(raw_hbm, run, cached) + Part(ddr, run, false)
                          : 0;
  }
  double OutputElementBytes() const {
    return f.constraints.output_dtype ? static_cast<double>(SizeOf(*f.constraints.output_dtype))
                                      : f.element_bytes;
  }

  const OptionFacts& f;
  bool inference, cached;
  double ratio, multiplier = 0;
  int64_t whole = 0, hbm = 0, ddr = 0, raw_hbm = 0;
};

}  // namespace

double OptimizerMultiplier(const PlannerTable& table) {
  const int64_t dim = table.planned_dim();
  const std::string& optimizer = table.optimizer;
  if (table.kept_bytes)
    return static_cast<double>(table.kept_bytes->Of(dim)) /
           static_cast<double>(dim * table.element_bytes());
  if (table.state_dtype) {
    const AnyRule rule = RuleByName(optimizer.empty() ? "none" : optimizer);
    return static_cast<double>(StateBytesARow(rule, ElementType(*table.state_dtype), dim)) /
           static_cast<double>(dim * table.element_bytes());
  }
  if (optimizer.empty() || optimizer == "none" || optimizer == "sgd") return 0;
  if (optimizer == "adam") return 2;
  return optimizer == "rowwise_adagrad" ? 1.0 / static_cast<double>(dim) : 1;
}

double LineBytes(const PlannerTable& table, int64_t columns) {
  const auto row = static_cast<double>(columns * table.element_bytes());
  return table.kept_bytes ? row + static_cast<double>(table.kept_bytes->Of(columns))
                          : row * (1 + OptimizerMultiplier(table));
}

void TorchRecStorageEstimator::Estimate(const Topology& topology, const PlannerModel& model,
                                        ShardingOption& option) const {
  const OptionFacts facts(topology, model, option);
  for (ShardRun& run : option.shards) Sizer(facts, facts.load_factor(run)).Set(run);
}

}  // namespace tessera
