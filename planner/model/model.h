#ifndef TESSERA_PLANNER_MODEL_MODEL_H_
#define TESSERA_PLANNER_MODEL_MODEL_H_
// The model to be planned, as plain data: collections of tables, the user's constraints, and how a
// step runs. Names and defaults are those of TorchRec's planner.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "embedding/config/placement.h"
#include "planner/model/kept_bytes.h"
#include "planner/model/plan_kernel.h"
#include "planner/model/topology.h"
#include "runtime/numbers/dtype.h"
#include "sharding/plan/plan.h"

namespace tessera {

// Type of a stored row's elements, or of a pooled output's.
enum class RowDType { kFp32, kFp16, kBf16, kInt8 };
std::string ToString(RowDType dtype);  // "fp32", "fp16", "bf16", "int8"
RowDType ParseRowDType(const std::string& name);
DType ElementType(RowDType dtype);
inline int64_t SizeOf(RowDType dtype) { return SizeOf(ElementType(dtype)); }

// ebc pooled, ec not pooled, fp_ebc pooled with a feature processor; quantized twins.
enum class ModuleKind { kEbc, kEc, kFpEbc, kQuantEbc, kQuantEc };
std::string ToString(ModuleKind kind);  // "ebc", "ec", "fp_ebc", "quant_ebc", "quant_ec"
ModuleKind ParseModuleKind(const std::string& name);
inline bool IsPooled(ModuleKind kind) {
  return kind != ModuleKind::kEc && kind != ModuleKind::kQuantEc;
}
inline bool IsQuantized(ModuleKind kind) {
  return kind == ModuleKind::kQuantEbc || kind == ModuleKind::kQuantEc;
}

struct PlannerModule {
  std::string path;  // dotted, where it hangs in the model
  ModuleKind kind = ModuleKind::kEbc;
  bool is_weighted = false;
};

struct PlannerTable {
  std::string name;
  int module = 0;  // index into PlannerModel::modules
  int64_t rows = 0, dim = 0;
  RowDType dtype = RowDType::kFp32;
  std::vector<std::string> features = {};
  std::string optimizer = {};  // "" for none, "sgd", "adam", "rowwise_adagrad", …
  // The number format of the optimizer's states, which are then counted as training has them.
  // Absent: TorchRec's estimate of them, which knows some optimizers' names alone.
  std::optional<RowDType> state_dtype = {};
  // Set where they are known; they are then counted in place of the optimizer's states by name.
  std::optional<KeptBytes> kept_bytes = {};
  // Set for a quantized table: what lies in memory in place of [rows, dim] and the dtype's bytes
  // (scale, bias and padding included).
  std::optional<int64_t> stored_rows = {}, stored_dim = {}, stored_element_bytes = {};

  int64_t planned_rows() const { return stored_rows.value_or(rows); }
  int64_t planned_dim() const { return stored_dim.value_or(dim); }
  int64_t element_bytes() const { return stored_element_bytes.value_or(SizeOf(dtype)); }
};

// How well a table's rows cache: a histogram of LRU stack distances up to `height` rows.
struct CacheStatistics {
  double cacheability = 0;
  double expected_lookups = 0;
  std::vector<double> histogram = {};
  double height = 0;
};

// TorchRec's planner refuses caches of all rows, which a training may have: they are planned as
// caches of this share.
inline constexpr double kNearlyAllRows = 1 - 1e-9;

struct CacheParams {
  std::string algorithm = "lru";
  std::optional<double> load_factor = {};
  std::optional<int64_t> bytes = {};  // of each shard, rows and states; in place of load_factor
  std::optional<int64_t> ways = {};   // lines of a set; caches of `bytes` are whole sets
  // Whether fused and dense have the cache, too, on a CPU: tables that are configured for one do.
  bool always = false;
  bool prefetch_pipeline = false;
  std::optional<double> num_passes = {};
  std::optional<CacheStatistics> statistics = {};
};

struct KeyValueParams {
  std::optional<int64_t> max_l1_cache_size = {};  // MiB
  std::optional<int64_t> l2_cache_size = {};
};

// The user's knowledge and wishes about a table. Empty lists constrain nothing. One entry of
// pooling_factors, num_poolings (absent: 1 each) and batch_sizes (absent: the model's) is one
// feature.
struct TableConstraints {
  std::vector<ShardingType> sharding_types = {};
  std::vector<PlanKernel> compute_kernels = {};
  std::optional<int64_t> min_partition = {};
  std::vector<double> pooling_factors = {1.0};
  std::vector<double> num_poolings = {};
  std::vector<double> batch_sizes = {};
  bool is_weighted = false;
  std::optional<RowDType> output_dtype = {};
  std::optional<ComputeDevice> device_group = {};
  std::optional<CacheParams> cache_params = {};
  std::optional<KeyValueParams> key_value_params = {};
  bool use_virtual_table = false;
};

// Bytes that an element takes in a collective, forward and backward.
struct CommBytes {
  double forward = 4, backward = 4;
};

// Settings of all collections of a kind.
struct SharderSettings {
  std::optional<double> cache_load_factor = {};
  bool prefetch_pipeline = false;
  std::optional<CommBytes> pooled_all_to_all = {}, sequence_all_to_all = {},
                           pooled_reduce_scatter = {};
};

enum class PipelineType { kNone, kTrainBase, kTrainSparseDist, kTrainPrefetchSparseDist };
std::string ToString(PipelineType type);  // "none", "train_base", "train_sparse_dist", …
PipelineType ParsePipelineType(const std::string& name);

struct EstimatorSettings {
  bool is_inference = false;
  PipelineType pipeline_type = PipelineType::kNone;
  bool run_embedding_at_peak_memory = false;
};

struct PlannerModel {
  int64_t batch_size = 512;  // per rank
  // In the order in which they hang in the model, tables of a module together and in its order.
  std::vector<PlannerModule> modules = {};
  std::vector<PlannerTable> tables = {};
  std::map<std::string, TableConstraints> constraints = {};  // by bare table name
  std::map<ModuleKind, SharderSettings> sharders = {};
  int64_t dense_parameter_bytes = 0, dense_buffer_bytes = 0;
  EstimatorSettings estimator = {};

  const PlannerModule& module_of(const PlannerTable& table) const {
    return modules[static_cast<size_t>(table.module)];
  }
  // Constraints of a table, and settings of its module's kind; defaults where there are none.
  const TableConstraints& constraints_of(const PlannerTable& table) const;
  const SharderSettings& sharder_of(const PlannerTable& table) const;
  // Cache lines as a share of a table's rows: from its constraints, else from its kind's settings,
  // else 0.2.
  double cache_load_factor(const PlannerTable& table) const;
  // The size of the cache of each shard of a table.
  CacheConfig cache_config(const PlannerTable& table) const;
  // Whether a kernel of a CPU has a cache in host memory in front of a table in host memory.
  bool is_cached_on_cpu(const PlannerTable& table, PlanKernel kernel) const;
  // "path.name".
  std::string full_name(const PlannerTable& table) const;
};

// Throws Error for tables without rows, columns or a module, two of one full name, constraints of
// unknown tables, and numbers out of range, naming the table.
void CheckModel(const PlannerModel& model);

// Ids and pooled outputs of a table's features a rank: ids = Σ L·P·B; outputs = Σ min(1, L)·P·B
// when pooled, else ids. Throws PlannerError where the lists' lengths disagree.
struct TableLoad {
  double ids = 0, outputs = 0;
};
TableLoad LoadOf(const PlannerModel& model, const PlannerTable& table);

// Whether a table's features carry weights: the module says so for ebc and quant_ebc, the table's
// constraints for other kinds.
bool IsWeighted(const PlannerModel& model, const PlannerTable& table);

}  // namespace tessera
#endif  // TESSERA_PLANNER_MODEL_MODEL_H_
