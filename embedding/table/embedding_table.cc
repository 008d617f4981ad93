#include "embedding/table/embedding_table.h"

#include <algorithm>
#include <utility>

#include "embedding/lookup/index_remap.h"
#include "embedding/lookup/row_access.h"
#include "embedding/storage/rows_on_use.h"
#include "embedding/table/new_row_init.h"
#include "embedding/table/rows_to_start.h"
#include "embedding/table/table_on_disk.h"
#include "embedding/table/table_start.h"
#include "runtime/base/hash.h"
#include "runtime/base/size_limits.h"
#include "runtime/fill_uniform.h"
#include "runtime/recorded_step.h"
#include "runtime/virtual_memory.h"

namespace tessera::internal {
namespace {

void CheckFloatType(const BaseEmbeddingConfig& config, const char* what, DType dtype) {
  TESSERA_CHECK(dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16,
                "table {}: {} of type {}; expected f32, f16 or bf16", config.name, what, dtype);
}

void CheckGrowing(const BaseEmbeddingConfig& config) {
  TESSERA_CHECK(!std::holds_alternative<Dense>(config.optimizer),
                "table {}: it grows, but of the rule dense all rows are one variable", config.name);
  TESSERA_CHECK(config.index_remap == nullptr, "table {}: it grows, so it cannot be pruned",
                config.name);
  TESSERA_CHECK(!IsCached(config.location),
                "table {}: it grows, so its location cannot be {}: cached rows stay where they are",
                config.name, ToString(config.location));
}

void CheckConfig(const BaseEmbeddingConfig& config) {
  TESSERA_CHECK(!config.name.empty(), "a table has no name");
  CheckTableSize(config.num_embeddings, config.embedding_dim, "table " + config.name);
  CheckFloatType(config, "rows", config.data_type);
  CheckFloatType(config, "optimizer state", config.state_type);
  TESSERA_CHECK(config.lr_scale >= 0, "table {}: lr_scale {}; expected at least 0", config.name,
                config.lr_scale);
  if (config.index_remap)
    TESSERA_CHECK_EQ(config.index_remap->rows(), config.num_embeddings,
                     "table {}: rows that its index remap names", config.name);
  CheckLocationOfRule(config.name, config.location, config.optimizer);
  if (config.growing) CheckGrowing(config);
  try {
    CheckCacheConfig(config.cache);
    CheckRule(config.optimizer);
    CheckDimOfRule(config.optimizer, config.embedding_dim);
  } catch (const Error& error) {
    throw Error(Format("table {}: {}", config.name, error.what()));
  }
}

}  // namespace

void EmbeddingTable::SetRows(LookupFeature& feature) const {
  TESSERA_CHECK(!variable || variable.value().raw_data() == weight.raw_data(),
                "table {}: its variable was given another tensor (set_value), which the table does "
                "not read; expected CopyFrom into the tensor that it has",
                config.name);
  const Tensor& found = cache ? cache->slots_of_part(0) : weight;
  feature.rows = found.raw_data();
  feature.row_type = found.dtype();
  feature.num_rows = found.dim(0);
  feature.dim = weight.dim(1);
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

void EmbeddingTable::AppendWhole(ScratchVector<UpdateTable>& tables) const {
  if (!disk) tables.push_back(Whole());
  if (cache) tables.push_back(ForUpdate());
}

UpdateTable EmbeddingTable::Whole() const {
  UpdateTable update;
  update.weights = weight.raw_data();
  update.num_rows = weight.dim(0);
  update.dim = weight.dim(1);
  update.rule = &config.optimizer;
  update.states.reserve(states.size());
  for (const OptimizerState& s : states) update.states.push_back(s.tensor.raw_data());
  update.row_type = weight.dtype();
  update.state_type = config.state_type;
  update.rounding.stochastic = config.stochastic_rounding && weight.dtype() != DType::kF32;
  update.rounding.seed = rounding_seed;
  update.rounding.first_row = config.place.first_row;
  update.rounding.first_column = config.place.first_column;
  return update;
}

namespace {

// Whether a function fills all rows of the new table at once.
bool FilledByFunction(const BaseEmbeddingConfig& c) {
  return c.place.fill != nullptr || c.init_fn != nullptr;
}

void FillFirst(Context& ctx, const BaseEmbeddingConfig& c, const Tensor& rows) {
  if (FilledByFunction(c)) return (c.place.fill ? c.place.fill : c.init_fn)(ctx, rows);
  const auto [low, high] = InitRange(c);
  FillUniform(ctx, rows, low, high);
}

// Makes rows of 16 bits of wide_rows(begin, end), some rows at a time.
template <typename Fn>
Tensor RoundedRows(Context& ctx, const BaseEmbeddingConfig& c, Fn&& wide_rows) {
  Tensor rows = EmptyAt(ctx, c.location, {c.num_embeddings, c.embedding_dim}, c.data_type);
  constexpr int64_t kRowsAtOnce = 1 << 16;
  for (int64_t begin = 0; begin < c.num_embeddings; begin += kRowsAtOnce) {
    const int64_t end = std::min(begin + kRowsAtOnce, c.num_embeddings);
    rows.Rows(begin, end).CopyFrom(ctx, wide_rows(begin, end).To(ctx, c.data_type));
  }
  return rows;
}

// Makes all rows at the table's location. Rows of 16 bits are filled and rounded some at a time,
// since there may be no room for all as f32; only a function gets all at once.
Tensor PlacedRows(Context& ctx, const BaseEmbeddingConfig& c) {
  if (c.data_type == DType::kF32 || FilledByFunction(c)) {
    Tensor wide = EmptyAt(ctx, c.location, {c.num_embeddings, c.embedding_dim});
    FillFirst(ctx, c, wide);
    if (c.data_type == DType::kF32) return wide;
    return RoundedRows(ctx, c, [&](int64_t begin, int64_t end) { return wide.Rows(begin, end); });
  }
  const auto [low, high] = InitRange(c);
  const uint64_t sequence = ctx.random().TakeSequence();
  return RoundedRows(ctx, c, [&, low = low, high = high](int64_t begin, int64_t end) {
    const Tensor wide = Tensor::Empty(ctx, {end - begin, c.embedding_dim});
    FillUniformFrom(ctx, wide, low, high, sequence, begin * c.embedding_dim);
    return wide;
  });
}

// An init_fn is given the rows that are reset alone.
void WriteByFunction(Context& ctx, const EmbeddingTable& table, const Tensor& ids) {
  const Tensor rows = Tensor::Empty(ctx, {ids.numel(), table.config.embedding_dim});
  table.config.init_fn(ctx, rows);
  WriteRows(ctx, table.weight, ids, rows);
}

std::shared_ptr<RowCache> MakeCache(Context& ctx, const EmbeddingTable& table) {
  if (!IsCached(table.config.location)) return nullptr;
  std::vector<Tensor> parts = {table.weight};
  for (const OptimizerState& s : table.states) parts.push_back(s.tensor);
  return std::make_shared<RowCache>(ctx, std::move(parts), table.config.cache, table.disk);
}

}  // namespace

void EmbeddingTable::ShowRows(int64_t rows) {
  weight = reserved[0].Rows(rows);
  for (size_t s = 0; s < states.size(); ++s) states[s].tensor = reserved[s + 1].Rows(rows);
}

void EmbeddingTable::SetRowsInUse(Context& ctx, int64_t rows) {
  TESSERA_CHECK(config.growing, "table {}: all of its rows are in use: it does not grow",
                config.name);
  TESSERA_CHECK(rows >= 0 && rows <= config.num_embeddings,
                "table {}: {} rows in use; expected 0 to {}", config.name, rows,
                config.num_embeddings);
  SettleSync();
  const int64_t before = weight.dim(0);
  TESSERA_CHECK(rows >= before || !touched,
                "table {}: {} rows in use; its {} rows are tracked, so none can go", config.name,
                rows, before);
  ShowRows(rows);
  if (rows <= before) return;
  if (touched) touched->Grow(ctx, rows);
  InitNewRows(ctx, config, weight, {{}, before, rows}, start_seed, iter);
  const int copied = CopiedState(config.optimizer, iter);
  for (int s = 0; s < std::ssize(states); ++s) {
    const Tensor started = states[static_cast<size_t>(s)].tensor.Rows(before, rows);
    if (s == copied)
      started.CopyFrom(ctx, weight.Rows(before, rows).To(ctx, started.dtype()));
    else
      started.Fill(ctx, 0);
  }
}

uint64_t EmbeddingTable::SeedOfStarts(Context& ctx) const {
  return config.growing ? start_seed : ctx.random().seed() + HashOf(config.name);
}

bool EmbeddingTable::ShowRowsToStart(Context& ctx, const RowsToStart& rows) {
  if (!rows.follows) {
    SettleSync();
    if (weight.dim(0) > rows.least) return false;
    SetRowsInUse(ctx, rows.least);
  }
  ShowRows(std::max(weight.dim(0), rows.most));
  unread_in_use = rows.in_use;
  unread_less = rows.first_row;
  return true;
}

bool EmbeddingTable::StartRows(Context& ctx, const RowsToStart& rows) {
  if (config.init_fn || touched || cache || ActsBeforeLookup(config.optimizer)) return false;
  if (config.growing != rows.in_use.defined()) return false;
  if (IsRecording(ctx)) return false;  // each launch would start these rows again
  if (config.growing && !ShowRowsToStart(ctx, rows)) return false;
  std::vector<Tensor> parts = {weight};
  for (const OptimizerState& state : states) parts.push_back(state.tensor);
  StartCountedRows(ctx, config, parts, rows, SeedOfStarts(ctx), iter);
  return true;
}

void EmbeddingTable::SettleSync() {
  if (!unread_in_use) return;
  ShowRows(unread_in_use.ToVector<int64_t>()[0] + unread_less);
  unread_in_use = {};
}

void EmbeddingTable::ResetRows(Context& ctx, const Tensor& ids, bool initial) {
  SettleSync();
  CheckRowIdsSync(ctx, "table " + config.name, ids, weight.dim(0));
  if (cache) {  // the rows are changed where they lie whole
    cache->Flush(ctx);
    cache->Reset(ctx);
  }
  if (touched) touched->Touch(ctx, ids);
  if (on_use) on_use->Start(ids);
  if (disk) return ResetRowsOnDisk(ctx, *this, ids, initial);
  if (!initial)
    FillRows(ctx, weight, ids, 0);
  else if (config.growing || !config.init_fn)
    InitNewRows(ctx, config, weight, {ids}, SeedOfStarts(ctx), iter);
  else
    WriteByFunction(ctx, *this, ids);
  const int copied = initial ? CopiedState(config.optimizer, iter) : -1;
  for (int s = 0; s < std::ssize(states); ++s) {
    const Tensor& state = states[static_cast<size_t>(s)].tensor;
    if (s == copied)
      WriteRows(ctx, state, ids, ReadRows(ctx, weight, ids));
    else
      FillRows(ctx, state, ids, 0);
  }
}

namespace {

// Makes a part with addresses for all rows, none of which is in use.
ReservedTensor ReservedPart(Context& ctx, const BaseEmbeddingConfig& c, const Shape& shape,
                            DType dtype) {
  if (ctx.device() == Device::Cpu() || c.location == EmbeddingLocation::kDevice)
    return {ctx, shape, dtype};
  return ReservedTensor(EmptyAt(ctx, c.location, shape, dtype));
}

// Weight and states, filled unless their rows come later; without memory where something else gives
// it to them.
std::vector<ReservedTensor> MakeParts(Context& ctx, const BaseEmbeddingConfig& c, bool on_use) {
  const Shape whole = {c.num_embeddings, c.embedding_dim};
  const bool elsewhere = c.location == EmbeddingLocation::kDisk || on_use;
  std::vector<ReservedTensor> parts;
  const auto add = [&](const Shape& shape, DType dtype, const auto& filled) {
    parts.push_back(c.growing   ? ReservedPart(ctx, c, shape, dtype)
                    : elsewhere ? ReservedTensor(ShapeOnly(ctx, shape, dtype))
                                : ReservedTensor(filled()));
  };
  add(whole, c.data_type, [&] { return PlacedRows(ctx, c); });
  for (const StateSpec& spec : RuleStates(c.optimizer)) {
    const Shape shape = spec.per_row ? Shape{c.num_embeddings} : whole;
    const DType dtype = spec.counts ? DType::kF32 : c.state_type;
    add(shape, dtype, [&] { return ZerosAt(ctx, c.location, shape, dtype); });
  }
  return parts;
}

}  // namespace

EmbeddingTable MakeEmbeddingTable(Context& ctx, BaseEmbeddingConfig config, PoolingType pooling,
                                  std::shared_ptr<BlockIo>& io) {
  CheckConfig(config);
  EmbeddingTable table;
  table.config = std::move(config);
  const bool on_use = table.config.growing && table.config.place.all_rows;
  if (on_use) table.config.growing = false;
  table.pooling = pooling;
  const BaseEmbeddingConfig& c = table.config;
  std::vector<ReservedTensor> reserved = MakeParts(ctx, c, on_use);
  std::vector<Tensor> parts;
  for (const ReservedTensor& part : reserved) parts.push_back(part.whole());
  if (c.location == EmbeddingLocation::kDisk) table.disk = MakeDiskTable(ctx, c, parts, io);
  if (on_use) {
    table.on_use = std::make_shared<RowsOnUse>(parts, StartOf(ctx, c));
    parts = table.on_use->parts();
  }
  table.weight = parts[0];
  const StateSpecs specs = RuleStates(c.optimizer);
  for (size_t s = 0; s < specs.size(); ++s)
    table.states.push_back({std::string(specs[s].name), parts[s + 1]});
  if (c.growing) {
    table.start_seed = ctx.random().seed() + HashOf(c.name);
    table.reserved = std::move(reserved);
    table.ShowRows(0);
  }
  table.cache = MakeCache(ctx, table);
  if (table.dense()) table.variable = Variable(table.weight, /*requires_grad=*/true);
  return table;
}

}  // namespace tessera::internal
