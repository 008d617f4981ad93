#include "planner/search/enumerator.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "embedding/config/cache_size.h"
#include "optim/column_cut.h"
#include "planner/model/planner_error.h"
#include "planner/search/module_order.h"
#include "planner/torchrec/torchrec_estimators.h"
#include "runtime/base/joined.h"
#include "sharding/plan/column_cuts.h"
#include "sharding/plan/shard_sizes.h"

namespace tessera {
namespace {

constexpr int64_t kFewestColumns = 128;  // of a block, unless a constraint says otherwise

using enum ShardingType;
using enum PlanKernel;

template <typename T>
bool Contains(const std::vector<T>& values, T value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

// Keeps the elements for which `keep` is true.
template <typename T, typename Fn>
void Filter(std::vector<T>& values, Fn&& keep) {
  std::erase_if(values, [&](T value) { return !keep(value); });
}

std::vector<ShardingType> TorchRecTypes(ModuleKind kind, ComputeDevice device) {
  if (IsQuantized(kind)) return {kTableWise, kRowWise, kColumnWise};
  if (kind == ModuleKind::kEc) return {kDataParallel, kTableWise, kColumnWise, kRowWise};
  if (device == ComputeDevice::kMtia && kind == ModuleKind::kFpEbc)
    return {kTableWise, kColumnWise};
  if (device == ComputeDevice::kMtia)
    return {kTableWise, kColumnWise, kTableColumnWise, kRowWise, kTableRowWise, kGridShard};
  std::vector<ShardingType> types = {kDataParallel, kTableWise, kColumnWise, kTableColumnWise};
  if (kind == ModuleKind::kFpEbc)
    types.insert(types.end(), {kTableRowWise, kRowWise, kGridShard});
  else if (device == ComputeDevice::kCuda)
    types.insert(types.end(), {kRowWise, kTableRowWise, kGridShard});
  return types;
}

// Types that are used only where a constraint names them.
bool OnRequest(ShardingType type, ModuleKind kind) {
  return type == kGridShard ||
         (kind == ModuleKind::kFpEbc && (type == kRowWise || type == kTableRowWise));
}

std::vector<PlanKernel> TorchRecKernels(ModuleKind kind, ComputeDevice device, ShardingType type) {
  const bool cuda = device == ComputeDevice::kCuda;
  if (IsQuantized(kind))
    return cuda ? std::vector{kQuant, kQuantUvm, kQuantUvmCaching} : std::vector{kQuant};
  if (type == kDataParallel) return {kDense};
  if (!cuda) return {kFused};
  return {kFused,           kFusedUvm,         kFusedUvmCaching,    kKeyValue,
          kSsdVirtualTable, kDramVirtualTable, kDramSsdVirtualTable};
}

std::vector<PlanKernel> BuildKernels(ModuleKind kind, ComputeDevice device, ShardingType type) {
  if (IsQuantized(kind)) return {kQuant};
  if (type == kDataParallel) return {kDense};
  if (device != ComputeDevice::kCuda) return {kFused, kKeyValue};
  return {kFused, kFusedUvm, kFusedUvmCaching, kKeyValue};
}

void AddRun(std::vector<ShardRun>& runs, const Shard& shard) {
  if (!runs.empty() && runs.back().rows == shard.rows && runs.back().columns == shard.columns)
    ++runs.back().count;
  else
    runs.push_back({.count = 1, .rows = shard.rows, .columns = shard.columns});
}

std::vector<ShardRun> RunsOf(const std::vector<Shard>& shards) {
  std::vector<ShardRun> runs;
  for (const Shard& shard : shards) AddRun(runs, shard);
  return runs;
}

}  // namespace

std::string ToString(OptionRules rules) {
  return rules == OptionRules::kTorchRec ? "torchrec" : "build";
}

std::vector<Shard> ShardsOf(const Topology& topology, const PlannerModel& model, int table,
                            ShardingType type) {
  const PlannerTable& t = model.tables[static_cast<size_t>(table)];
  ShardSizeOptions options;
  options.min_partition = model.constraints_of(t).min_partition.value_or(0);
  if (options.min_partition == 0) options.min_partition = kFewestColumns;
  const auto& caps =
      topology.compute_device == ComputeDevice::kCpu ? topology.ddr_caps : topology.hbm_caps;
  if (type == kRowWise) options.device_memory_sizes.assign(caps.begin(), caps.end());
  return ShardSizes(type, {t.name, t.planned_rows(), t.planned_dim()}, topology.world_size,
                    topology.group_size(), options);
}

EmbeddingEnumerator::EmbeddingEnumerator(const Topology& topology, const PlannerModel& model,
                                         const PerfEstimator& perf, const StorageEstimator& storage,
                                         OptionRules rules)
    : topology_(topology), model_(model), perf_(perf), storage_(storage), rules_(rules) {
  CheckTopology(topology);
  CheckModel(model);
}

std::vector<ShardingType> EmbeddingEnumerator::TypesOf(const PlannerTable& table) const {
  const ModuleKind kind = model_.module_of(table).kind;
  const TableConstraints& c = model_.constraints_of(table);
  std::vector<ShardingType> types = {kDataParallel, kTableWise,    kColumnWise, kTableColumnWise,
                                     kRowWise,      kTableRowWise, kGridShard};
  if (rules_ == OptionRules::kTorchRec) types = TorchRecTypes(kind, topology_.compute_device);
  const bool whole = ColumnCutOf(table.optimizer) == ColumnCut::kMustBeWhole;
  Filter(types, [&](ShardingType type) {
    if (whole && CutsColumns(type)) return false;
    if (!c.sharding_types.empty()) return Contains(c.sharding_types, type);
    return rules_ == OptionRules::kBuild || !OnRequest(type, kind);
  });
  return types;
}

std::vector<PlanKernel> EmbeddingEnumerator::KernelsOf(const PlannerTable& table,
                                                       ShardingType type) const {
  const TableConstraints& c = model_.constraints_of(table);
  const ComputeDevice device = topology_.compute_device;
  std::vector<PlanKernel> kernels =
      rules_ == OptionRules::kTorchRec ? TorchRecKernels(model_.module_of(table).kind, device, type)
                                       : BuildKernels(model_.module_of(table).kind, device, type);
  Filter(kernels, [&](PlanKernel kernel) {
    if (kernel == kKeyValue && topology_.ssd_cap == 0) return false;
    return c.compute_kernels.empty() ? !IsKeyValue(kernel) : Contains(c.compute_kernels, kernel);
  });
  return kernels;
}

ShardingOption EmbeddingEnumerator::Unpriced(int table, ShardingType type,
                                             PlanKernel kernel) const {
  const PlannerTable& t = model_.tables[static_cast<size_t>(table)];
  ShardingOption option{.table = table, .module = t.module, .type = type, .kernel = kernel};
  option.is_pooled = IsPooled(model_.module_of(t).kind);
  option.is_weighted = IsWeighted(model_, t);
  const TableConstraints& c = model_.constraints_of(t);
  if (c.cache_params) option.cache_load_factor = c.cache_params->load_factor;
  return option;
}

void EmbeddingEnumerator::SetCacheLines(ShardingOption& option) const {
  const PlannerTable& table = model_.tables[static_cast<size_t>(option.table)];
  const CacheConfig config = model_.cache_config(table);
  if (config.bytes == 0) return;
  double held = 0, all = 0;
  for (ShardRun& run : option.shards) {
    if (run.rows == 0 || run.columns == 0) continue;
    const double line = LineBytes(table, run.columns),
                 bytes = static_cast<double>(run.count * run.rows) * line;
    run.cache_lines = NumCacheLines(config, run.rows, static_cast<int64_t>(std::ceil(line)));
    held += bytes * run.cached_share(0);
    all += bytes;
  }
  if (all > 0) option.cache_load_factor = std::min(held / all, kNearlyAllRows);
}

void EmbeddingEnumerator::Estimate(ShardingOption& option) const {
  storage_.Estimate(topology_, model_, option);
  perf_.Estimate(topology_, model_, option);
}

ShardingOption EmbeddingEnumerator::Price(int table, ShardingType type, PlanKernel kernel,
                                          const std::vector<Shard>& shards) const {
  ShardingOption option = Unpriced(table, type, kernel);
  option.shards = RunsOf(shards);
  SetCacheLines(option);
  Estimate(option);
  return option;
}

ShardingOption EmbeddingEnumerator::WithCache(const ShardingOption& option, PlanKernel kernel,
                                              std::optional<double> load_factor) const {
  ShardingOption changed = option;
  changed.kernel = kernel;
  changed.cache_load_factor = load_factor;
  for (ShardRun& run : changed.shards) run.cache_lines.reset();
  Estimate(changed);
  return changed;
}

void EmbeddingEnumerator::AddOptions(int table, std::vector<ShardingOption>& options) const {
  const PlannerTable& t = model_.tables[static_cast<size_t>(table)];
  const TableConstraints& c = model_.constraints_of(t);
  if (c.device_group && *c.device_group != topology_.compute_device) return;
  const size_t before = options.size();
  for (const ShardingType type : TypesOf(t)) {
    const std::vector<PlanKernel> kernels = KernelsOf(t, type);
    if (kernels.empty()) continue;
    const std::vector<ShardRun> runs = RunsOf(ShardsOf(topology_, model_, table, type));
    for (const PlanKernel kernel : kernels) {
      options.push_back(Unpriced(table, type, kernel));
      options.back().shards = runs;
      SetCacheLines(options.back());
      Estimate(options.back());
    }
  }
  if (options.size() == before) ThrowNoOption(t);
}

void EmbeddingEnumerator::ThrowNoOption(const PlannerTable& table) const {
  const TableConstraints& c = model_.constraints_of(table);
  const auto named = [](const auto& values) {
    const auto text_of = [](auto value) { return ToString(value); };
    return values.empty() ? "any" : internal::JoinedFirst(values, values.size(), text_of);
  };
  throw PlannerError(
      PlannerErrorKind::kNoOption,
      Format("table {} ({} on {}): no sharding type has a compute kernel that is allowed: its "
             "sharding_types are {}, its compute_kernels {} (a table's location is a constraint, "
             "too), which the rules of options \"{}\"{} do not have; allow more of them",
             model_.full_name(table), model_.module_of(table).kind, topology_.compute_device,
             named(c.sharding_types), named(c.compute_kernels), ToString(rules_),
             topology_.ssd_cap == 0 ? " on a machine without a disk (ssd_cap 0)" : ""));
}

std::vector<ShardingOption> EmbeddingEnumerator::Enumerate() const {
  std::vector<int> order(model_.tables.size());
  std::iota(order.begin(), order.end(), 0);
  if (rules_ == OptionRules::kBuild) {
    std::sort(order.begin(), order.end(), [&](int a, int b) {
      return model_.full_name(model_.tables[static_cast<size_t>(a)]) <
             model_.full_name(model_.tables[static_cast<size_t>(b)]);
    });
  } else {
    std::vector<int> place(model_.modules.size());
    const std::vector<int> modules = internal::TorchRecModuleOrder(model_.modules);
    for (size_t i = 0; i < modules.size(); ++i)
      place[static_cast<size_t>(modules[i])] = static_cast<int>(i);
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
      return place[static_cast<size_t>(model_.tables[static_cast<size_t>(a)].module)] <
             place[static_cast<size_t>(model_.tables[static_cast<size_t>(b)].module)];
    });
  }
  std::vector<ShardingOption> options;
  for (const int table : order) AddOptions(table, options);
  return options;
}

}  // namespace tessera
