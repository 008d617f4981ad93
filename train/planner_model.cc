#include "train/planner_model.h"

#include <algorithm>
#include <optional>
#include <variant>

#include "embedding/config/cache_size.h"
#include "embedding/table/table_memory.h"
#include "models/ranking_net.h"
#include "optim/dense_state_names.h"
#include "optim/state_bytes.h"
#include "runtime/base/check.h"
#include "runtime/context.h"
#include "train/model_config.h"

namespace tessera {
namespace {

RowDType PlannedType(const EmbeddingBagConfig& table, DType type) {
  switch (type) {
    case DType::kF32:
      return RowDType::kFp32;
    case DType::kF16:
      return RowDType::kFp16;
    case DType::kBF16:
      return RowDType::kBf16;
    default:
      throw Error(Format("table {}: rows of {} are not trained", table.name, type));
  }
}

std::vector<ShardingType> TypesOf(const ManagedTableConfig& raw_ids, int ranks) {
  std::vector<ShardingType> types = {ShardingType::kTableWise};
  if (raw_ids.num_parts > 0 && raw_ids.num_parts % ranks == 0)
    types.push_back(ShardingType::kRowWise);
  return types;
}

// The kernel that keeps a table where its configuration wants it; none: the planner chooses. A CPU
// has no memory beside its own.
std::vector<PlanKernel> KernelsOf(EmbeddingLocation location, ComputeDevice device) {
  const bool cpu = device == ComputeDevice::kCpu;
  switch (location) {
    case EmbeddingLocation::kDevice:
      return {};
    case EmbeddingLocation::kHost:
    case EmbeddingLocation::kManaged:
      return cpu ? std::vector<PlanKernel>{} : std::vector{PlanKernel::kFusedUvm};
    case EmbeddingLocation::kManagedCaching:
      return cpu ? std::vector<PlanKernel>{} : std::vector{PlanKernel::kFusedUvmCaching};
    case EmbeddingLocation::kDisk:
      return {PlanKernel::kKeyValue};
  }
  TESSERA_FAIL("unknown EmbeddingLocation {}", static_cast<int>(location));
}

// The lines of a cache as a share of the rows, as a planner takes it.
double LinesShare(const EmbeddingBagConfig& table) {
  const auto line = static_cast<int64_t>(BytesOfRows(table, 1, table.embedding_dim));
  const int64_t rows = table.num_embeddings, lines = NumCacheLines(table.cache, rows, line);
  return std::min(static_cast<double>(lines) / static_cast<double>(rows), kNearlyAllRows);
}

CacheParams CacheOf(const EmbeddingBagConfig& table) {
  CacheParams cache = {.ways = table.cache.ways};
  if (table.cache.bytes > 0)
    cache.bytes = table.cache.bytes;
  else
    cache.load_factor = LinesShare(table);
  cache.always = table.location == EmbeddingLocation::kManagedCaching;
  return cache;
}

// The bytes of the net's parameters; a net is made once to ask it.
int64_t DenseBytes(const RankingModelConfig& config) {
  if (config.tables.empty()) return 0;
  Context ctx({.threads = 1});
  const auto net = MakeRankingNet(ctx, config.net, PooledFeatures(config.tables, config.net));
  int64_t bytes = 0;
  for (const NamedParameter& p : net->Parameters()) bytes += p.variable.value().nbytes();
  return bytes;
}

// Absent for a table of the rule dense, whose states are the dense optimizer's.
std::optional<RowDType> StateType(const EmbeddingBagConfig& table) {
  if (std::holds_alternative<Dense>(table.optimizer)) return {};
  return PlannedType(table, table.state_type);
}

// An update in backward keeps states alone; without one, backward leaves a gradient of the whole
// table, and the dense optimizer's states come on top (AddDenseStates).
KeptBytes KeptBytesOf(const EmbeddingBagConfig& table) {
  if (std::holds_alternative<Dense>(table.optimizer)) return {.column = SizeOf(DType::kF32)};
  const auto states = [&](int64_t columns) {
    return StateBytesARow(table.optimizer, table.state_type, columns);
  };
  return {.column = states(1) - states(0), .row = states(0)};
}

void AddDenseStates(const DenseOptimizerConfig& optimizer, KeptBytes& kept) {
  const int64_t row = DenseStateBytesARow(optimizer, 0);
  kept.column += DenseStateBytesARow(optimizer, 1) - row;
  kept.row += row;
}

}  // namespace

PlannerModel PlannerModelOf(const RankingModelConfig& config, int64_t batch_size, int ranks,
                            ComputeDevice device) {
  PlannerModel model;
  model.batch_size = batch_size;
  model.modules = {{.path = "sparse_arch.embedding_bag_collection", .kind = ModuleKind::kEbc}};
  for (const EmbeddingBagConfig& table : CollectionTables(config)) {
    model.tables.push_back({.name = table.name,
                            .rows = table.num_embeddings,
                            .dim = table.embedding_dim,
                            .dtype = PlannedType(table, table.data_type),
                            .features = table.feature_names,
                            .optimizer = RuleName(table.optimizer),
                            .state_dtype = StateType(table),
                            .kept_bytes = KeptBytesOf(table)});
    TableConstraints& constraints = model.constraints[table.name];
    constraints.pooling_factors.assign(table.feature_names.size(), 1.0);
    if (const auto raw = config.managed_collision.find(table.name);
        raw != config.managed_collision.end())
      constraints.sharding_types = TypesOf(raw->second, ranks);
    constraints.compute_kernels = KernelsOf(table.location, device);
    if (IsCached(table.location)) constraints.cache_params = CacheOf(table);
  }
  model.dense_parameter_bytes = DenseBytes(config);
  return model;
}

PlannerModel PlannerModelOf(const TrainConfig& config, int ranks, ComputeDevice device) {
  PlannerModel model = PlannerModelOf(
      RankingModelConfigOf(config), std::max<int64_t>(1, config.batch_size / ranks), ranks, device);
  for (PlannerTable& table : model.tables)
    if (table.optimizer == Dense::kName)
      AddDenseStates(config.dense_optimizer, table.kept_bytes.value());
  return model;
}

}  // namespace tessera
