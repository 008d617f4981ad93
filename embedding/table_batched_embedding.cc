#include "embedding/table_batched_embedding.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "embedding/table/fused_states.h"
#include "embedding/table/rule_sweeps.h"
#include "embedding/table_forward.h"
#include "runtime/base/hash.h"

namespace tessera {
namespace {

using internal::EmbeddingTable;

bool IsSequence(const EmbeddingTable& table) { return table.pooling == PoolingType::kNone; }

void CheckInMemory(const EmbeddingTable& table) {
  TESSERA_CHECK(table.disk == nullptr,
                "table {}: its location is DISK, so there is no tensor of all its rows: "
                "rows().part reads and writes some at a time",
                table.config.name);
  TESSERA_CHECK(table.on_use == nullptr,
                "table {}: it grows in parts, whose rows take memory as they come into use, so "
                "there is no tensor of all of them: rows().part reads and writes some at a time",
                table.config.name);
}

// Throws if the cache still holds updates that a reader of all rows would miss.
void CheckWholeIsTruth(const EmbeddingTable& table) {
  CheckInMemory(table);
  if (table.cache_holds_updates())
    throw Error(
        Format("table {}: its cache ({}) holds updates that the whole table lacks; call "
               "caches().Flush(ctx) before rows and states are read",
               table.config.name, ToString(table.config.location)));
}

void SeedTables(Context& ctx, internal::TablesState& state) {
  if (state.options.rounding_seed)
    for (EmbeddingTable& table : state.tables)
      if (table.config.growing)
        table.start_seed = *state.options.rounding_seed + internal::HashOf(table.config.name);
  const auto by_chance = [](const EmbeddingTable& t) { return t.config.stochastic_rounding; };
  if (std::none_of(state.tables.begin(), state.tables.end(), by_chance)) return;
  if (!state.options.rounding_seed) {
    const PhiloxBits bits = Philox(ctx.random().seed(), ctx.random().TakeSequence(), 0);
    state.options.rounding_seed = uint64_t{bits.v[1]} << 32 | bits.v[0];
  }
  // Tables with one seed round by different random numbers, which do not depend on their order.
  for (EmbeddingTable& table : state.tables)
    table.rounding_seed = *state.options.rounding_seed + internal::HashOf(table.config.name);
}

void CheckFeatures(const internal::TablesState& state) {
  const TableBatchedEmbeddingOptions& options = state.options;
  if (!options.feature_requires_grad.empty())
    TESSERA_CHECK_EQ(options.feature_requires_grad.size(), state.features.size(),
                     "feature_requires_grad, one a feature");
  for (const EmbeddingFeature& f : state.features)
    TESSERA_CHECK(f.table >= 0 && static_cast<size_t>(f.table) < state.tables.size(),
                  "feature {}: table {} of {}", f.name, f.table, state.tables.size());
  // Owed decay reaches a lookup as weights of ids, and a key has one weight for each id. Blocks of
  // columns of the same rows owe the same.
  for (const EmbeddingFeature& f : state.features) {
    const EmbeddingTable& table = state.tables[static_cast<size_t>(f.table)];
    if (!std::holds_alternative<GlobalDecayRowwiseAdagrad>(table.config.optimizer)) continue;
    for (const EmbeddingFeature& g : state.features) {
      if (&g == &f || g.key != f.key) continue;
      const EmbeddingTable& other = state.tables[static_cast<size_t>(g.table)];
      TESSERA_CHECK(g.table != f.table && other.SharesRowsWith(table),
                    "feature {} of table {}: {} reads its key {} alone, but feature {} of table {} "
                    "reads it, too; expected a key for each",
                    f.name, table.config.name, RuleName(table.config.optimizer), f.key, g.name,
                    other.config.name);
    }
  }
}

void CheckOptions(const internal::TablesState& state) {
  const DType output = state.options.output_type;
  TESSERA_CHECK(output == DType::kF32 || output == DType::kF16 || output == DType::kBF16,
                "outputs of type {}; expected f32, f16 or bf16", output);
  TESSERA_CHECK(state.options.max_gradient >= 0,
                "max_gradient {}; expected 0, which clamps nothing, or a number above",
                state.options.max_gradient);
  for (const EmbeddingTable& table : state.tables)
    TESSERA_CHECK(!state.options.weighted || !IsSequence(table),
                  "table {}: sequences (pooling NONE) take no per-sample weights",
                  table.config.name);
}

}  // namespace

TableBatchedEmbedding::TableBatchedEmbedding(Context& ctx, std::vector<BaseEmbeddingConfig> tables,
                                             std::vector<PoolingType> poolings,
                                             std::vector<EmbeddingFeature> features,
                                             TableBatchedEmbeddingOptions options)
    : state_(std::make_shared<internal::TablesState>()) {
  TESSERA_CHECK_EQ(poolings.size(), tables.size(), "poolings, one a table");
  std::set<std::tuple<std::string, int64_t, int64_t>> names;
  std::shared_ptr<BlockIo> io;
  for (size_t t = 0; t < tables.size(); ++t) {
    const BaseEmbeddingConfig& table = tables[t];
    TESSERA_CHECK(names.emplace(table.name, table.place.first_row, table.place.first_column).second,
                  "table {}: a table of that name is there already", tables[t].name);
    state_->tables.push_back(
        internal::MakeEmbeddingTable(ctx, std::move(tables[t]), poolings[t], io));
  }
  state_->features = std::move(features);
  state_->options = std::move(options);
  std::vector<std::string> feature_names;
  for (const EmbeddingFeature& f : state_->features) feature_names.push_back(f.name);
  state_->findings = BoundsCheckLog(ctx, std::move(feature_names));
  CheckOptions(*state_);
  CheckFeatures(*state_);
  SeedTables(ctx, *state_);
}

Variable TableBatchedEmbedding::Forward(Context& ctx, const KeyedJaggedTensor& kjt) {
  for (const EmbeddingTable& table : state_->tables)
    TESSERA_CHECK(!IsSequence(table),
                  "table {}: pooling is NONE: call ForwardSequence, or ForwardAll",
                  table.config.name);
  return ForwardAll(ctx, kjt).pooled;
}

std::vector<Variable> TableBatchedEmbedding::ForwardSequence(Context& ctx,
                                                             const KeyedJaggedTensor& kjt) {
  for (const EmbeddingTable& table : state_->tables)
    TESSERA_CHECK(IsSequence(table), "table {} is pooled: call Forward, or ForwardAll",
                  table.config.name);
  return ForwardAll(ctx, kjt).sequences;
}

EmbeddingOutputs TableBatchedEmbedding::ForwardAll(Context& ctx, const KeyedJaggedTensor& kjt) {
  return internal::ForwardTables(ctx, state_, kjt);
}

void TableBatchedEmbedding::AllowForwardsAhead(int forwards) {
  TESSERA_CHECK_GE(forwards, 0, "forwards ahead of a backward");
  TESSERA_CHECK(forwards == 0 || !state_->kept.accumulates(),
                "forwards ahead of a backward beside several forwards of one step "
                "(AccumulateForwards)");
  for (const EmbeddingTable& table : state_->tables) {
    if (forwards == 0) break;
    TESSERA_CHECK(
        table.cache == nullptr,
        "table {}: its rows pass through a cache, which holds those of one training batch "
        "at a time: no forward goes ahead of a backward",
        table.config.name);
    TESSERA_CHECK(!internal::ActsBeforeLookup(table),
                  "table {}: rule {} changes rows before they are looked up: no forward goes ahead "
                  "of a backward",
                  table.config.name, RuleName(table.config.optimizer));
  }
  state_->max_updates_pending = 1 + forwards;
}

void TableBatchedEmbedding::AccumulateForwards(int forwards) {
  TESSERA_CHECK(forwards == 1 || state_->max_updates_pending == 1,
                "{} forwards of one step beside forwards that go ahead of a backward "
                "(AllowForwardsAhead): they would read rows from before the step",
                forwards);
  TESSERA_CHECK(state_->updates_pending == 0,
                "AccumulateForwards between a training forward and its backward");
  state_->kept.Begin(forwards);
}

void TableBatchedEmbedding::CheckForwardIsStep(std::string_view what) const {
  state_->CheckForwardIsStep(what);
}

int TableBatchedEmbedding::num_tables() const { return static_cast<int>(state_->tables.size()); }
const std::vector<EmbeddingFeature>& TableBatchedEmbedding::features() const {
  return state_->features;
}
const TableBatchedEmbeddingOptions& TableBatchedEmbedding::options() const {
  return state_->options;
}
const BaseEmbeddingConfig& TableBatchedEmbedding::table(int index) const {
  return state_->at(index).config;
}
PoolingType TableBatchedEmbedding::pooling(int index) const { return state_->at(index).pooling; }
Tensor TableBatchedEmbedding::weight(int index) const {
  CheckWholeIsTruth(state_->at(index));
  state_->at(index).SettleSync();
  return state_->at(index).weight;
}

Variable TableBatchedEmbedding::weight_variable(int index) const {
  const EmbeddingTable& table = state_->at(index);
  TESSERA_CHECK(table.dense(),
                "table {}: its rule is {}, so it is updated in backward and is no variable",
                table.config.name, RuleName(table.config.optimizer));
  return table.variable;
}

const RowGradients& TableBatchedEmbedding::row_gradients(int index) const {
  const EmbeddingTable& table = state_->at(index);
  TESSERA_CHECK(table.without_rule(), "table {}: its rule is {}; only rule none keeps gradients",
                table.config.name, RuleName(table.config.optimizer));
  return table.row_gradients;
}

std::vector<OptimizerState> TableBatchedEmbedding::optimizer_states(int index) const {
  CheckWholeIsTruth(state_->at(index));
  state_->at(index).SettleSync();
  return state_->at(index).states;
}

const AnyRule& TableBatchedEmbedding::rule(int index) const { return table(index).optimizer; }

void TableBatchedEmbedding::SetLearningRate(float lr) {
  for (int t = 0; t < num_tables(); ++t) SetLearningRate(t, lr * table(t).lr_scale);
}
void TableBatchedEmbedding::SetLearningRate(int index, float lr) {
  tessera::SetLearningRate(state_->at(index).config.optimizer, lr);
}
void TableBatchedEmbedding::SetLearningRateScale(int index, float scale) {
  TESSERA_CHECK(scale >= 0, "lr_scale {}; expected at least 0", scale);
  state_->at(index).config.lr_scale = scale;
}

void TableBatchedEmbedding::SetFrozen(int index, bool frozen) { state_->at(index).frozen = frozen; }
bool TableBatchedEmbedding::frozen(int index) const { return state_->at(index).frozen; }

int64_t TableBatchedEmbedding::iter() const { return state_->iter; }
int64_t TableBatchedEmbedding::iter(int index) const { return state_->at(index).iter; }
void TableBatchedEmbedding::set_iter(int64_t iter) {
  internal::CheckIter(iter, "iter");
  state_->iter = iter;
  for (EmbeddingTable& table : state_->tables) table.iter = iter;
}
void TableBatchedEmbedding::set_iter(int index, int64_t iter) {
  internal::CheckIter(iter, "iter of table " + table_name(index));
  state_->at(index).iter = iter;
}

float TableBatchedEmbedding::max_counter() const {
  float largest = 1;
  for (int t = 0; t < num_tables(); ++t) largest = std::max(largest, max_counter(t));
  return largest;
}
float TableBatchedEmbedding::max_counter(int index) const {
  return internal::MaxCounterOf(state_->at(index).config.optimizer);
}
void TableBatchedEmbedding::set_max_counter(float max_counter) {
  for (int t = 0; t < num_tables(); ++t) set_max_counter(t, max_counter);
}
void TableBatchedEmbedding::set_max_counter(int index, float max_counter) {
  internal::SetMaxCounter(state_->at(index).config.optimizer, max_counter);
}

float TableBatchedEmbedding::LargestCounterSync(Context& ctx) const {
  return internal::LargestCounterSync(ctx, *state_);
}

int64_t TableBatchedEmbedding::bounds_check_warnings() const {
  return bounds_check_report().findings();
}
BoundsCheckReport TableBatchedEmbedding::bounds_check_report() const {
  return state_->findings.ReportSync();
}

}  // namespace tessera
