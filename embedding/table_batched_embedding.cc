#include "embedding/table_batched_embedding.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "embedding/bounds_check.h"
#include "embedding/clamp_gradient.h"
#include "embedding/lookup.h"
#include "embedding/update.h"

namespace tessera {
namespace {

// One table with all that belongs to it.
struct Table {
  BaseEmbeddingConfig config;
  PoolingType pooling;
  Tensor weight;
  Variable variable;  // only where the rule is Dense
  std::vector<OptimizerState> states;
  RowGradients row_gradients;  // only where the rule is None

  bool without_rule() const { return std::holds_alternative<None>(config.optimizer); }
  bool dense() const { return std::holds_alternative<Dense>(config.optimizer); }
};

void CheckConfig(const BaseEmbeddingConfig& config, std::set<std::string>& names) {
  TESSERA_CHECK(!config.name.empty(), "a table has no name");
  TESSERA_CHECK(names.insert(config.name).second, "table {}: a table of that name is there already",
                config.name);
  TESSERA_CHECK_GE(config.num_embeddings, 1, "table {}: rows", config.name);
  TESSERA_CHECK_GE(config.embedding_dim, 1, "table {}: dim", config.name);
  TESSERA_CHECK(config.data_type == DType::kF32,
                "table {}: rows of type {} are not trained yet; expected f32", config.name,
                config.data_type);
}

Table MakeTable(Context& ctx, BaseEmbeddingConfig config, PoolingType pooling) {
  Table table{std::move(config), pooling, {}, {}, {}, {}};
  const BaseEmbeddingConfig& c = table.config;
  const Shape shape = {c.num_embeddings, c.embedding_dim};
  table.weight = Tensor::Empty(ctx, shape);
  if (c.init_fn) {
    c.init_fn(ctx, table.weight);
  } else {
    const float bound = static_cast<float>(std::sqrt(1.0 / static_cast<double>(c.num_embeddings)));
    const auto [low, high] = c.init_range.value_or(std::pair(-bound, bound));
    FillUniform(ctx, table.weight, low, high);
  }
  for (const StateSpec& spec : RuleStates(c.optimizer))
    table.states.push_back(
        {spec.name, Tensor::Zeros(ctx, spec.per_row ? Shape{c.num_embeddings} : shape)});
  if (table.dense()) table.variable = Variable(table.weight, /*requires_grad=*/true);
  return table;
}

}  // namespace

struct TableBatchedEmbedding::State {
  std::vector<Table> tables;
  std::vector<EmbeddingFeature> features;
  TableBatchedEmbeddingOptions options;
  int64_t iter = 0;
  Tensor warnings;              // [1] i64, on the tables' device
  bool update_pending = false;  // a training forward waits for its backward

  int64_t total_dim() const {
    int64_t sum = 0;
    for (const EmbeddingFeature& f : features) sum += table_of(f).config.embedding_dim;
    return sum;
  }
  const Table& table_of(const EmbeddingFeature& f) const {
    return tables[static_cast<size_t>(f.table)];
  }
  bool any_fused() const {
    return std::any_of(tables.begin(), tables.end(), [](const Table& t) { return !t.dense(); });
  }
};

// What one KJT brings to the features: ids (mended where the bounds check says so), offsets,
// weights. Holds the tensors.
class TableBatchedEmbedding::Batch {
 public:
  Batch(Context& ctx, const State& state, const KeyedJaggedTensor& kjt, bool sequence)
      : sequence_(sequence), offsets_(kjt.offsets(ctx)) {
    TESSERA_CHECK(!kjt.variable_stride_per_key(),
                  "a batch of its own for each feature (variable stride) is not looked up yet; "
                  "give every key the same batch");
    TESSERA_CHECK(!state.options.weighted || kjt.is_weighted(),
                  "the collection is weighted, but the KeyedJaggedTensor has no weights");
    if (state.options.weighted) weights_ = kjt.weights().value().Contiguous(ctx);
    if (weights_) TESSERA_CHECK_EQ(weights_.dtype(), DType::kF32, "per-sample weights");
    CheckDevice(ctx, "embedding lookup", kjt.values(), offsets_, weights_, state.warnings);
    VisitIndexType(kjt.values().dtype(), "ids of a KeyedJaggedTensor", []<typename>() {});
    batch_size_ = kjt.stride();
    num_ids_ = kjt.values().numel();
    AddFeatures(ctx, state, kjt);
  }

  int64_t batch_size() const { return batch_size_; }
  int64_t num_ids() const { return num_ids_; }
  int64_t ids_of(size_t feature) const { return spans_[feature].num_ids; }

  // The features with `blocks[f]` as the output (or the gradient of the output) of feature f, rows
  // apart by its row stride.
  std::vector<LookupFeature> Features(const State& state, const std::vector<Tensor>& blocks) const {
    std::vector<LookupFeature> features;
    for (size_t f = 0; f < state.features.size(); ++f) {
      const Table& table = state.table_of(state.features[f]);
      const Span& span = spans_[f];
      features.push_back({.rows = table.weight.data<float>(),
                          .num_rows = table.config.num_embeddings,
                          .dim = table.config.embedding_dim,
                          .ids = {span.ids.raw_data(), span.ids.dtype() == DType::kI64},
                          .first_bag = span.first_bag,
                          .num_bags = batch_size_,
                          .pooling = sequence_ ? PoolingType::kNone : table.pooling,
                          .output = blocks[f].data<float>(),
                          .output_stride = std::max(blocks[f].row_stride(), blocks[f].dim(1))});
    }
    return features;
  }

  LookupArgs Args(std::span<const LookupFeature> features) const {
    return {features,
            {offsets_.raw_data(), offsets_.dtype() == DType::kI64},
            weights_ ? weights_.data<float>() : nullptr,
            num_ids_};
  }

 private:
  struct Span {
    Tensor ids;
    int64_t first_bag, num_ids;
  };

  void AddFeatures(Context& ctx, const State& state, const KeyedJaggedTensor& kjt) {
    std::vector<CheckedIds> checked;
    for (const EmbeddingFeature& feature : state.features) {
      const auto key = static_cast<size_t>(kjt.IndexOf(feature.key));
      const int64_t begin = kjt.offset_per_key()[key], end = kjt.offset_per_key()[key + 1];
      checked.push_back({begin, end, state.table_of(feature).config.num_embeddings, feature.name});
      spans_.push_back({{}, kjt.lengths_offset_per_key()[key], end - begin});
    }
    const std::vector<Tensor> ids =
        CheckIds(ctx, state.options.bounds_check, kjt.values(), checked, state.warnings);
    for (size_t f = 0; f < spans_.size(); ++f) spans_[f].ids = ids[f];
  }

  bool sequence_;
  Tensor offsets_, weights_;
  std::vector<Span> spans_;
  int64_t batch_size_ = 0, num_ids_ = 0;
};

// Backward of a lookup: gradients of the KJT's weights and of dense tables are returned, all other
// tables are updated. Inputs: the weights (if the collection is weighted), then the dense tables.
class TableBatchedEmbedding::UpdateFunction final : public Function {
 public:
  UpdateFunction(std::shared_ptr<State> state, Batch batch, bool sequence)
      : state_(std::move(state)),
        batch_(std::move(batch)),
        sequence_(sequence),
        step_(state_->iter) {
    state_->update_pending = state_->any_fused();
  }
  ~UpdateFunction() override { state_->update_pending = false; }
  std::string_view name() const override { return "embedding lookup"; }

  std::vector<Tensor> Backward(Context& ctx, const std::vector<Tensor>& grad_outputs) override {
    const std::vector<Tensor> blocks = GradientBlocks(ctx, grad_outputs);
    const std::vector<LookupFeature> features = batch_.Features(*state_, blocks);
    const LookupArgs lookup = batch_.Args(features);
    std::vector<Tensor> grads;
    // The weights' gradient is of the rows as they were: before any update.
    if (state_->options.weighted)
      grads.push_back(needs_grad(0) ? WeightGradient(ctx, lookup) : Tensor());
    std::vector<UpdateTable> updates;
    for (int t = 0; t < static_cast<int>(state_->tables.size()); ++t) {
      const UpdateTable update = UpdateOf(t);
      Table& table = state_->tables[static_cast<size_t>(t)];
      if (table.dense())
        grads.push_back(ComputeDenseGradient(ctx, lookup, update));
      else if (table.without_rule())
        table.row_gradients = ComputeRowGradients(ctx, lookup, update);
      else
        updates.push_back(update);
    }
    Update(ctx, {lookup, updates, step_});
    state_->update_pending = false;
    return grads;
  }

 private:
  // The gradient of each feature's block of the output, clamped if asked; zeros where none arrived.
  std::vector<Tensor> GradientBlocks(Context& ctx, const std::vector<Tensor>& grads) const {
    const auto prepared = [&](const Tensor& gradient) {
      const float limit = state_->options.max_gradient;
      return limit > 0 ? internal::ClampGradient(ctx, gradient, limit) : gradient.Contiguous(ctx);
    };
    std::vector<Tensor> blocks;
    const Tensor pooled = sequence_ ? Tensor() : prepared(grads[0]);
    int64_t column = 0;
    for (size_t f = 0; f < state_->features.size(); ++f) {
      const int64_t dim = state_->table_of(state_->features[f]).config.embedding_dim;
      if (!sequence_)
        blocks.push_back(pooled.Narrow(1, std::exchange(column, column + dim), dim));
      else
        blocks.push_back(grads[f].defined() ? prepared(grads[f])
                                            : Tensor::Zeros(ctx, {batch_.ids_of(f), dim}));
    }
    return blocks;
  }

  Tensor WeightGradient(Context& ctx, const LookupArgs& lookup) const {
    Tensor gradient = Tensor::Zeros(ctx, {batch_.num_ids()});
    std::vector<LookupFeature> wanted;
    const std::vector<bool>& required = state_->options.feature_requires_grad;
    for (size_t f = 0; f < lookup.features.size(); ++f)
      if (required.empty() || required[f]) wanted.push_back(lookup.features[f]);
    LookupArgs args = lookup;
    args.features = wanted;
    LookupWeightGradients(ctx, args, gradient.data<float>());
    return gradient;
  }

  UpdateTable UpdateOf(int index) const {
    const Table& table = state_->tables[static_cast<size_t>(index)];
    UpdateTable update{table.weight.data<float>(), table.config.num_embeddings,
                       table.config.embedding_dim, {},
                       &table.config.optimizer,    {}};
    for (size_t f = 0; f < state_->features.size(); ++f)
      if (state_->features[f].table == index) update.features.push_back(static_cast<int>(f));
    for (const OptimizerState& s : table.states) update.states.push_back(s.tensor.data<float>());
    return update;
  }

  std::shared_ptr<State> state_;
  Batch batch_;
  bool sequence_;
  int64_t step_;
};

TableBatchedEmbedding::TableBatchedEmbedding(Context& ctx, std::vector<BaseEmbeddingConfig> tables,
                                             std::vector<PoolingType> poolings,
                                             std::vector<EmbeddingFeature> features,
                                             TableBatchedEmbeddingOptions options)
    : state_(std::make_shared<State>()) {
  TESSERA_CHECK_EQ(poolings.size(), tables.size(), "poolings, one a table");
  std::set<std::string> names;
  for (size_t t = 0; t < tables.size(); ++t) {
    CheckConfig(tables[t], names);
    TESSERA_CHECK_EQ(poolings[t] == PoolingType::kNone, poolings[0] == PoolingType::kNone,
                     "table {}: pooling NONE goes for all tables of a collection or for none",
                     tables[t].name);
  }
  if (!options.feature_requires_grad.empty())
    TESSERA_CHECK_EQ(options.feature_requires_grad.size(), features.size(),
                     "feature_requires_grad, one a feature");
  for (const EmbeddingFeature& f : features)
    TESSERA_CHECK(f.table >= 0 && static_cast<size_t>(f.table) < tables.size(),
                  "feature {}: table {} of {}", f.name, f.table, tables.size());
  for (size_t t = 0; t < tables.size(); ++t)
    state_->tables.push_back(MakeTable(ctx, std::move(tables[t]), poolings[t]));
  state_->features = std::move(features);
  state_->options = std::move(options);
  state_->warnings = Tensor::Zeros(ctx, {1}, DType::kI64);
}

std::vector<Variable> TableBatchedEmbedding::Run(Context& ctx, const KeyedJaggedTensor& kjt,
                                                 bool sequence) {
  State& s = *state_;
  const bool training = ctx.tape() != nullptr;
  TESSERA_CHECK(!training || !s.update_pending,
                "a second training forward before the backward of the first: its update would be "
                "computed from rows that the first "
                "has changed");
  Batch batch(ctx, s, kjt, sequence);
  std::vector<Tensor> outputs, blocks;
  if (!sequence) outputs.push_back(Tensor::Empty(ctx, {batch.batch_size(), s.total_dim()}));
  int64_t column = 0;
  for (size_t f = 0; f < s.features.size(); ++f) {
    const int64_t dim = s.table_of(s.features[f]).config.embedding_dim;
    if (sequence) outputs.push_back(Tensor::Empty(ctx, {batch.ids_of(f), dim}));
    blocks.push_back(sequence ? outputs.back()
                              : outputs[0].Narrow(1, std::exchange(column, column + dim), dim));
  }
  const std::vector<LookupFeature> features = batch.Features(s, blocks);
  Lookup(ctx, batch.Args(features));

  std::vector<Variable> inputs;
  if (s.options.weighted) inputs.push_back(kjt.weights());
  for (const Table& table : s.tables)
    if (table.dense()) inputs.push_back(table.variable);
  if (!training) {
    std::vector<Variable> plain;
    for (Tensor& output : outputs) plain.emplace_back(std::move(output));
    return plain;
  }
  ++s.iter;
  return Record(ctx, std::make_unique<UpdateFunction>(state_, std::move(batch), sequence),
                std::move(inputs), std::move(outputs),
                /*always=*/true);
}

Variable TableBatchedEmbedding::Forward(Context& ctx, const KeyedJaggedTensor& kjt) {
  TESSERA_CHECK(state_->tables.empty() || state_->tables[0].pooling != PoolingType::kNone,
                "pooling is NONE: call ForwardSequence");
  return Run(ctx, kjt, /*sequence=*/false)[0];
}

std::vector<Variable> TableBatchedEmbedding::ForwardSequence(Context& ctx,
                                                             const KeyedJaggedTensor& kjt) {
  TESSERA_CHECK(state_->tables.empty() || state_->tables[0].pooling == PoolingType::kNone,
                "the tables are pooled: call Forward");
  TESSERA_CHECK(!state_->options.weighted, "sequences take no per-sample weights");
  return Run(ctx, kjt, /*sequence=*/true);
}

int TableBatchedEmbedding::num_tables() const { return static_cast<int>(state_->tables.size()); }
const std::vector<EmbeddingFeature>& TableBatchedEmbedding::features() const {
  return state_->features;
}
const BaseEmbeddingConfig& TableBatchedEmbedding::table(int index) const {
  return state_->tables.at(static_cast<size_t>(index)).config;
}
Tensor TableBatchedEmbedding::weight(int index) const {
  return state_->tables.at(static_cast<size_t>(index)).weight;
}

Variable TableBatchedEmbedding::weight_variable(int index) const {
  const Table& table = state_->tables.at(static_cast<size_t>(index));
  TESSERA_CHECK(table.dense(),
                "table {}: its rule is {}, so it is updated in backward and is no variable",
                table.config.name, RuleName(table.config.optimizer));
  return table.variable;
}

const RowGradients& TableBatchedEmbedding::row_gradients(int index) const {
  const Table& table = state_->tables.at(static_cast<size_t>(index));
  TESSERA_CHECK(table.without_rule(), "table {}: its rule is {}; only rule none keeps gradients",
                table.config.name, RuleName(table.config.optimizer));
  return table.row_gradients;
}

std::vector<OptimizerState> TableBatchedEmbedding::optimizer_states(int index) const {
  return state_->tables.at(static_cast<size_t>(index)).states;
}

const AnyRule& TableBatchedEmbedding::rule(int index) const { return table(index).optimizer; }

void TableBatchedEmbedding::SetLearningRate(float lr) {
  for (int t = 0; t < num_tables(); ++t) SetLearningRate(t, lr);
}
void TableBatchedEmbedding::SetLearningRate(int index, float lr) {
  tessera::SetLearningRate(state_->tables.at(static_cast<size_t>(index)).config.optimizer, lr);
}

int64_t TableBatchedEmbedding::iter() const { return state_->iter; }
void TableBatchedEmbedding::set_iter(int64_t iter) {
  TESSERA_CHECK_GE(iter, 0, "iter");
  state_->iter = iter;
}
int64_t TableBatchedEmbedding::bounds_check_warnings() const {
  return state_->warnings.ToVector<int64_t>()[0];
}

}  // namespace tessera
