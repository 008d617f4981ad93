#include "planner/model/model.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "planner/model/planner_error.h"
#include "runtime/base/check.h"
#include "runtime/base/names.h"
#include "runtime/base/size_limits.h"

namespace tessera {
namespace {

constexpr const char* kRowDTypeNames[] = {"fp32", "fp16", "bf16", "int8"};
constexpr const char* kModuleKindNames[] = {"ebc", "ec", "fp_ebc", "quant_ebc", "quant_ec"};
constexpr const char* kPipelineNames[] = {"none", "train_base", "train_sparse_dist",
                                          "train_prefetch_sparse_dist"};
constexpr auto kMaxTableBytes = static_cast<double>(SizeLimits::kBytes);
constexpr double kMaxIds = 1e12;  // of a table, a rank
constexpr double kMaxKeptBytes = 1 << 20;

// A number of a table's, between `least` and `most`.
void CheckNumber(double value, double least, double most, const std::string& table,
                 const char* what) {
  TESSERA_CHECK(value >= least && value <= most, "table {}: {}: expected {} to {}, got {}", table,
                what, least, most, value);
}

void CheckNumbers(const std::vector<double>& values, const std::string& table, const char* what) {
  for (const double value : values) CheckNumber(value, 0, kMaxIds, table, what);
}

void CheckCache(const CacheParams& cache, const std::string& table) {
  TESSERA_CHECK(std::isfinite(cache.load_factor.value_or(0)) && cache.load_factor.value_or(0) >= 0,
                "table {}: cache_params.load_factor {}", table, cache.load_factor.value_or(0));
  TESSERA_CHECK(cache.num_passes.value_or(1) >= 0, "table {}: cache_params.num_passes {}", table,
                cache.num_passes.value_or(1));
  TESSERA_CHECK(cache.bytes.value_or(1) > 0, "table {}: cache_params.bytes {}; expected above 0",
                table, cache.bytes.value_or(1));
  CheckNumber(static_cast<double>(cache.ways.value_or(1)), 1, SizeLimits::kWays, table,
              "cache_params.ways");
  if (!cache.statistics) return;
  const CacheStatistics& s = *cache.statistics;
  TESSERA_CHECK(!s.histogram.empty(), "table {}: cache_params.stats.hist is empty", table);
  CheckNumbers(s.histogram, table, "cache_params.stats.hist");
  CheckNumber(s.expected_lookups, 0, kMaxIds, table, "cache_params.stats.expected_lookups");
  CheckNumber(s.cacheability, 0, kMaxIds, table, "cache_params.stats.cacheability");
  CheckNumber(s.height, 0, kMaxTableBytes, table, "cache_params.stats.height");
}

void CheckConstraints(const TableConstraints& c, const std::string& table) {
  TESSERA_CHECK(c.min_partition.value_or(1) >= 0, "table {}: min_partition {}", table,
                c.min_partition.value_or(1));
  CheckNumbers(c.pooling_factors, table, "pooling_factors");
  CheckNumbers(c.num_poolings, table, "num_poolings");
  CheckNumbers(c.batch_sizes, table, "batch_sizes");
  if (c.cache_params) CheckCache(*c.cache_params, table);
  if (c.key_value_params)
    CheckNumber(static_cast<double>(c.key_value_params->max_l1_cache_size.value_or(0)), 0,
                kMaxTableBytes / (1 << 20), table, "key_value_params.max_l1_cache_size");
}

// Reports show names in lines of tables.
void CheckName(std::string name) {
  TESSERA_CHECK(!name.empty(), "a table has no name");
  const auto is_control = [](char c) { return (c >= 0 && c < ' ') || c == 127; };
  if (std::none_of(name.begin(), name.end(), is_control)) return;
  std::replace_if(name.begin(), name.end(), is_control, '?');
  throw Error(
      Format("table {}: expected a name without control characters (shown as ?), such as an end of "
             "a line",
             name));
}

void CheckTable(const PlannerTable& t) {
  CheckName(t.name);
  TESSERA_CHECK(t.rows > 0 && t.dim > 0 && t.planned_rows() > 0 && t.planned_dim() > 0 &&
                    t.element_bytes() > 0,
                "table {}: expected rows, columns and bytes above 0, got [{}, {}] of {} bytes",
                t.name, t.planned_rows(), t.planned_dim(), t.element_bytes());
  CheckTableSize(t.rows, t.dim, "table " + t.name);
  CheckTableSize(t.planned_rows(), t.planned_dim(), "table " + t.name + ": stored_shape");
  const double bytes = static_cast<double>(t.planned_rows()) *
                       static_cast<double>(t.planned_dim()) *
                       static_cast<double>(t.element_bytes());
  TESSERA_CHECK(bytes <= kMaxTableBytes, "table {}: it has {} bytes, more than {}", t.name, bytes,
                kMaxTableBytes);
  if (!t.kept_bytes) return;
  CheckNumber(static_cast<double>(t.kept_bytes->column), 0, kMaxKeptBytes, t.name, "kept_bytes");
  CheckNumber(static_cast<double>(t.kept_bytes->row), 0, kMaxKeptBytes, t.name, "kept_bytes");
}

}  // namespace

std::string ToString(RowDType dtype) { return kRowDTypeNames[static_cast<int>(dtype)]; }
RowDType ParseRowDType(const std::string& name) {
  return internal::ParseName<RowDType>(name, "dtype", kRowDTypeNames);
}
DType ElementType(RowDType dtype) {
  switch (dtype) {
    case RowDType::kFp32:
      return DType::kF32;
    case RowDType::kFp16:
      return DType::kF16;
    case RowDType::kBf16:
      return DType::kBF16;
    case RowDType::kInt8:
      return DType::kI8;
  }
  TESSERA_FAIL("unknown RowDType {}", static_cast<int>(dtype));
}

std::string ToString(ModuleKind kind) { return kModuleKindNames[static_cast<int>(kind)]; }
ModuleKind ParseModuleKind(const std::string& name) {
  return internal::ParseName<ModuleKind>(name, "kind of module", kModuleKindNames);
}

std::string ToString(PipelineType type) { return kPipelineNames[static_cast<int>(type)]; }
PipelineType ParsePipelineType(const std::string& name) {
  return internal::ParseName<PipelineType>(name, "pipeline type", kPipelineNames);
}

const TableConstraints& PlannerModel::constraints_of(const PlannerTable& table) const {
  static const TableConstraints none;
  const auto found = constraints.find(table.name);
  return found == constraints.end() ? none : found->second;
}

const SharderSettings& PlannerModel::sharder_of(const PlannerTable& table) const {
  static const SharderSettings none;
  const auto found = sharders.find(module_of(table).kind);
  return found == sharders.end() ? none : found->second;
}

double PlannerModel::cache_load_factor(const PlannerTable& table) const {
  constexpr double kDefault = 0.2;
  const std::optional<CacheParams>& own = constraints_of(table).cache_params;
  if (own && own->load_factor) return *own->load_factor;
  return sharder_of(table).cache_load_factor.value_or(kDefault);
}

CacheConfig PlannerModel::cache_config(const PlannerTable& table) const {
  CacheConfig config = {.load_factor = std::min(cache_load_factor(table), 1.0)};
  const std::optional<CacheParams>& own = constraints_of(table).cache_params;
  if (!own) return config;
  config.bytes = own->bytes.value_or(0);
  config.ways = static_cast<int>(own->ways.value_or(config.ways));
  return config;
}

bool PlannerModel::is_cached_on_cpu(const PlannerTable& table, PlanKernel kernel) const {
  if (kernel == PlanKernel::kFusedUvmCaching) return true;
  const std::optional<CacheParams>& own = constraints_of(table).cache_params;
  return own && own->always && (kernel == PlanKernel::kFused || kernel == PlanKernel::kDense);
}

std::string PlannerModel::full_name(const PlannerTable& table) const {
  const std::string& path = module_of(table).path;
  return path.empty() ? table.name : path + "." + table.name;
}

void CheckModel(const PlannerModel& model) {
  CheckPositive(model.batch_size, SizeLimits::kBatch, "batch_size");
  TESSERA_CHECK(model.dense_parameter_bytes >= 0 && model.dense_buffer_bytes >= 0 &&
                    static_cast<double>(model.dense_parameter_bytes) <= kMaxTableBytes &&
                    static_cast<double>(model.dense_buffer_bytes) <= kMaxTableBytes,
                "dense_parameter_bytes {}, dense_buffer_bytes {}", model.dense_parameter_bytes,
                model.dense_buffer_bytes);
  std::set<std::string> names, full_names;
  for (const PlannerTable& table : model.tables) {
    CheckTable(table);
    TESSERA_CHECK(table.module >= 0 && table.module < static_cast<int>(model.modules.size()),
                  "table {}: module {} of {}", table.name, table.module, model.modules.size());
    names.insert(table.name);
    TESSERA_CHECK(full_names.insert(model.full_name(table)).second, "two tables are called {}",
                  model.full_name(table));
  }
  for (const auto& [name, constraints] : model.constraints) {
    TESSERA_CHECK(names.contains(name), "constraints: there is no table {}", name);
    CheckConstraints(constraints, name);
  }
}

TableLoad LoadOf(const PlannerModel& model, const PlannerTable& table) {
  const TableConstraints& c = model.constraints_of(table);
  const size_t features = c.pooling_factors.size();
  const auto check = [&](const std::vector<double>& list, const char* name) {
    if (list.empty() || list.size() == features) return;
    throw PlannerError(PlannerErrorKind::kFeatureListLengths,
                       Format("table {}: expected one entry a feature in each list, got {} "
                              "pooling_factors and {} {}",
                              table.name, features, list.size(), name));
  };
  check(c.num_poolings, "num_poolings");
  check(c.batch_sizes, "batch_sizes");
  TableLoad load;
  for (size_t f = 0; f < features; ++f) {
    const double poolings = c.num_poolings.empty() ? 1.0 : c.num_poolings[f];
    const double batch =
        c.batch_sizes.empty() ? static_cast<double>(model.batch_size) : c.batch_sizes[f];
    load.ids += c.pooling_factors[f] * poolings * batch;
    load.outputs += std::min(1.0, c.pooling_factors[f]) * poolings * batch;
  }
  if (!IsPooled(model.module_of(table).kind)) load.outputs = load.ids;
  return load;
}

bool IsWeighted(const PlannerModel& model, const PlannerTable& table) {
  const PlannerModule& module = model.module_of(table);
  if (module.kind == ModuleKind::kEbc || module.kind == ModuleKind::kQuantEbc)
    return module.is_weighted;
  return model.constraints_of(table).is_weighted;
}

}  // namespace tessera
