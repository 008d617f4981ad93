#include "embedding/embedding_table.h"

#include <algorithm>
#include <utility>

#include "embedding/index_remap.h"

namespace tessera::internal {
namespace {

void CheckFloatType(const BaseEmbeddingConfig& config, const char* what, DType dtype) {
  TESSERA_CHECK(dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16,
                "table {}: {} of type {}; expected f32, f16 or bf16", config.name, what, dtype);
}

void CheckConfig(const BaseEmbeddingConfig& config) {
  TESSERA_CHECK(!config.name.empty(), "a table has no name");
  TESSERA_CHECK_GE(config.num_embeddings, 1, "table {}: rows", config.name);
  TESSERA_CHECK_GE(config.embedding_dim, 1, "table {}: dim", config.name);
  CheckFloatType(config, "rows", config.data_type);
  CheckFloatType(config, "optimizer state", config.state_type);
  TESSERA_CHECK(config.lr_scale >= 0, "table {}: lr_scale {}; expected at least 0", config.name,
                config.lr_scale);
  if (config.index_remap)
    TESSERA_CHECK_EQ(config.index_remap->rows(), config.num_embeddings,
                     "table {}: rows that its index remap names", config.name);
  const bool updated = !std::holds_alternative<Dense>(config.optimizer) &&
                       !std::holds_alternative<None>(config.optimizer);
  TESSERA_CHECK(updated || config.location != EmbeddingLocation::kManagedCaching,
                "table {}: location {} is for rules that update rows, not for {}", config.name,
                ToString(config.location), RuleName(config.optimizer));
  try {
    CheckCacheConfig(config.cache);
    CheckRule(config.optimizer);
  } catch (const Error& error) {
    throw Error(Format("table {}: {}", config.name, error.what()));
  }
}

}  // namespace

LookupFeature EmbeddingTable::Rows() const {
  LookupFeature rows;
  const Tensor& found = cache ? cache->slots_of_part(0) : weight;
  rows.rows = found.raw_data();
  rows.row_type = found.dtype();
  rows.num_rows = found.dim(0);
  rows.dim = weight.dim(1);
  return rows;
}

UpdateTable EmbeddingTable::ForUpdate() const {
  UpdateTable update = Whole();
  if (!cache) return update;
  update.weights = cache->slots_of_part(0).raw_data();
  update.num_rows = cache->num_slots();
  for (size_t s = 0; s < states.size(); ++s)
    update.states[s] = cache->slots_of_part(static_cast<int>(s) + 1).raw_data();
  update.rounding.row_ids = cache->row_ids().data<int64_t>();
  return update;
}

void EmbeddingTable::AppendWhole(std::vector<UpdateTable>& tables) const {
  tables.push_back(Whole());
  if (cache) tables.push_back(ForUpdate());
}

UpdateTable EmbeddingTable::Whole() const {
  UpdateTable update;
  update.weights = weight.raw_data();
  update.num_rows = weight.dim(0);
  update.dim = weight.dim(1);
  update.rule = &config.optimizer;
  for (const OptimizerState& s : states) update.states.push_back(s.tensor.raw_data());
  update.row_type = weight.dtype();
  update.state_type = config.state_type;
  update.rounding.stochastic = config.stochastic_rounding && weight.dtype() != DType::kF32;
  update.rounding.seed = rounding_seed;
  update.rounding.first_row = config.first_row;
  update.rounding.first_column = config.first_column;
  return update;
}

namespace {

void FillInitial(Context& ctx, const BaseEmbeddingConfig& config, const Tensor& rows) {
  if (config.init_fn) return config.init_fn(ctx, rows);
  const auto [low, high] = InitRange(config);
  FillUniform(ctx, rows, low, high);
}

// All rows where they belong. Those of 16 bits are rounded some at a time: the device may have no
// room for all.
Tensor PlacedRows(Context& ctx, const BaseEmbeddingConfig& c) {
  const Shape shape = {c.num_embeddings, c.embedding_dim};
  Tensor wide = EmptyAt(ctx, c.location, shape);
  FillInitial(ctx, c, wide);
  if (c.data_type == DType::kF32) return wide;
  Tensor rows = EmptyAt(ctx, c.location, shape, c.data_type);
  constexpr int64_t kRowsAtOnce = 1 << 18;
  for (int64_t begin = 0; begin < c.num_embeddings; begin += kRowsAtOnce) {
    const int64_t end = std::min(begin + kRowsAtOnce, c.num_embeddings);
    rows.Rows(begin, end).CopyFrom(ctx, wide.Rows(begin, end).To(ctx, c.data_type));
  }
  return rows;
}

std::shared_ptr<RowCache> MakeCache(Context& ctx, const EmbeddingTable& table) {
  if (table.config.location != EmbeddingLocation::kManagedCaching) return nullptr;
  std::vector<Tensor> parts = {table.weight};
  for (const OptimizerState& s : table.states) parts.push_back(s.tensor);
  return std::make_shared<RowCache>(ctx, std::move(parts), table.config.cache);
}

}  // namespace

Tensor InitialRows(Context& ctx, const BaseEmbeddingConfig& config, int64_t n) {
  Tensor rows = Tensor::Empty(ctx, {n, config.embedding_dim});
  FillInitial(ctx, config, rows);
  return rows;
}

EmbeddingTable MakeEmbeddingTable(Context& ctx, BaseEmbeddingConfig config, PoolingType pooling) {
  CheckConfig(config);
  EmbeddingTable table;
  table.config = std::move(config);
  table.pooling = pooling;
  const BaseEmbeddingConfig& c = table.config;
  table.weight = PlacedRows(ctx, c);
  for (const StateSpec& spec : RuleStates(c.optimizer)) {
    const Shape shape =
        spec.per_row ? Shape{c.num_embeddings} : Shape{c.num_embeddings, c.embedding_dim};
    table.states.push_back(
        {spec.name, ZerosAt(ctx, c.location, shape, spec.counts ? DType::kF32 : c.state_type)});
  }
  table.cache = MakeCache(ctx, table);
  if (table.dense()) table.variable = Variable(table.weight, /*requires_grad=*/true);
  return table;
}

}  // namespace tessera::internal
