#include "embedding/quantized/quantized_table_batched_embedding.h"

#include <mutex>
#include <set>
#include <utility>

#include "embedding/bounds_check.h"
#include "embedding/output_layout.h"
#include "embedding/quantized/default_rows.h"
#include "embedding/quantized/quantized_lookup.h"

namespace tessera {

struct internal::QuantizedState {
  std::vector<QuantizedTable> tables;
  std::vector<RowLayout> layouts;  // of the tables
  std::vector<EmbeddingFeature> features;
  QuantizedOptions options;
  BoundsCheckLog findings;
  std::mutex findings_mutex;

  size_t index_of(size_t feature) const { return static_cast<size_t>(features[feature].table); }
  const QuantizedTable& table_of(size_t feature) const { return tables[index_of(feature)]; }
  const RowLayout& layout_of(size_t feature) const { return layouts[index_of(feature)]; }
};

namespace {

using internal::OutputLayout;
using internal::OutputPart;
using State = internal::QuantizedState;

bool IsSequence(const QuantizedTable& table) { return table.pooling == PoolingType::kNone; }

void CheckOutput(const QuantizedTable& table, const RowLayout& layout,
                 const QuantizedOptions& options) {
  TESSERA_CHECK(!options.weighted || !IsSequence(table),
                "table {}: sequences (pooling NONE) take no per-sample weights", table.name);
  const DType output = options.output_type;
  if (output == DType::kU8) {
    TESSERA_CHECK(IsSequence(table), "table {}: u8 outputs are for pooling NONE, not {}",
                  table.name, table.pooling);
    TESSERA_CHECK(layout.reading == RowReading::kAffine8,
                  "table {}: u8 outputs are of int8 rows, not {}", table.name, table.codec);
    return;
  }
  TESSERA_CHECK(output == DType::kF32 || output == DType::kF16 || output == DType::kBF16,
                "outputs of type {}; expected f32, f16, bf16 or u8", output);
}

void CheckFeatures(const State& state) {
  for (const EmbeddingFeature& f : state.features)
    TESSERA_CHECK(f.table >= 0 && static_cast<size_t>(f.table) < state.tables.size(),
                  "feature {}: table {} of {}", f.name, f.table, state.tables.size());
}

// Elements of one row of the output.
int64_t WidthOf(const State& state, size_t feature) {
  const bool stored = state.options.output_type == DType::kU8;
  return stored ? state.layout_of(feature).used_bytes : state.table_of(feature).embedding_dim;
}

OutputLayout LayoutOfOutputs(const State& state, const KeyedJaggedTensor& kjt) {
  std::vector<internal::FeatureShape> shapes;
  for (size_t f = 0; f < state.features.size(); ++f)
    shapes.push_back(
        {kjt.IndexOf(state.features[f].key), WidthOf(state, f), IsSequence(state.table_of(f))});
  return OutputLayout(kjt, shapes);
}

// ---- from ids to rows

CheckedIds RangeOf(const State& state, size_t feature, const KeyedJaggedTensor& kjt) {
  const EmbeddingFeature& f = state.features[feature];
  const auto key = static_cast<size_t>(kjt.IndexOf(f.key));
  return {kjt.offset_per_key()[key],         kjt.offset_per_key()[key + 1],
          state.table_of(feature).num_ids(), f.name,
          kjt.lengths_offset_per_key()[key], kjt.stride_per_key()[key]};
}

// All features, since a log has an entry for each. The log is one for all threads.
std::vector<Tensor> Checked(Context& ctx, State& state, BoundsCheckMode mode,
                            const KeyedJaggedTensor& kjt, std::span<const CheckedIds> ranges) {
  if (mode == BoundsCheckMode::kNone) return std::vector<Tensor>(ranges.size(), kjt.values());
  std::unique_lock<std::mutex> lock(state.findings_mutex, std::defer_lock);
  if (mode == BoundsCheckMode::kWarning) lock.lock();
  return CheckIds(ctx, mode, kjt.values(), kjt.offsets(ctx), ranges, state.findings);
}

// Ids of features whose tables have a default row are only counted.
std::vector<Tensor> CheckedFor(Context& ctx, State& state, const KeyedJaggedTensor& kjt,
                               const std::vector<CheckedIds>& ranges) {
  const BoundsCheckMode mode = state.options.bounds_check;
  std::vector<CheckedIds> strict = ranges, counted = ranges;
  bool any_default = false;
  for (size_t f = 0; f < ranges.size(); ++f) {
    const bool has_default = state.table_of(f).has_default_row;
    any_default |= has_default;
    CheckedIds& skipped = has_default ? strict[f] : counted[f];
    skipped.end = skipped.begin;
    skipped.num_bags = 0;
  }
  if (!any_default) return Checked(ctx, state, mode, kjt, ranges);
  Checked(ctx, state, BoundsCheckMode::kWarning, kjt, counted);
  return Checked(ctx, state, mode, kjt, strict);
}

// For each feature a tensor in which its own range names rows.
std::vector<Tensor> RowsOf(Context& ctx, State& state, const KeyedJaggedTensor& kjt) {
  std::vector<CheckedIds> ranges;
  for (size_t f = 0; f < state.features.size(); ++f) ranges.push_back(RangeOf(state, f, kjt));
  std::vector<Tensor> ids = CheckedFor(ctx, state, kjt, ranges);
  std::vector<RemappedIds> remapped;
  std::vector<internal::DefaultedIds> defaulted;
  for (size_t f = 0; f < ids.size(); ++f) {
    const QuantizedTable& table = state.table_of(f);
    const int64_t begin = ranges[f].begin, end = ranges[f].end;
    const IndexRemap* remap = table.index_remap.get();
    remapped.push_back({ids[f], begin, end, table.has_default_row ? nullptr : remap});
    if (table.has_default_row)
      defaulted.push_back({kjt.values(), begin, end, table.num_embeddings, remap});
  }
  ids = RemapIds(ctx, remapped);
  const std::vector<Tensor> rows = internal::RowsOrDefault(ctx, defaulted);
  auto next = rows.begin();
  for (size_t f = 0; f < ids.size(); ++f)
    if (state.table_of(f).has_default_row) ids[f] = *next++;
  return ids;
}

QuantizedLookupFeature FeatureOf(const State& state, const OutputPart& part, const Tensor& ids,
                                 const QuantizedOutputs& outputs) {
  const auto f = static_cast<size_t>(part.feature);
  const QuantizedTable& table = state.table_of(f);
  const Tensor& output =
      part.sequence < 0 ? outputs.pooled : outputs.sequences[static_cast<size_t>(part.sequence)];
  QuantizedLookupFeature feature;
  feature.rows = table.rows.raw_data();
  feature.num_rows = table.rows.dim(0);
  feature.dim = table.embedding_dim;
  feature.layout = state.layout_of(f);
  feature.ids = {ids.raw_data(), ids.dtype() == DType::kI64};
  feature.first_bag = part.first_bag;
  feature.num_bags = part.num_bags;
  feature.pooling = table.pooling;
  feature.output = static_cast<char*>(output.raw_data()) + part.at * SizeOf(output.dtype());
  feature.output_type = output.dtype();
  feature.output_stride = part.stride;
  return feature;
}

// Per-sample weights of a batch, or none.
Tensor WeightsOf(Context& ctx, const State& state, const KeyedJaggedTensor& kjt) {
  if (!state.options.weighted) return {};
  TESSERA_CHECK(kjt.is_weighted(),
                "the tables are weighted, but the KeyedJaggedTensor has no weights");
  const Tensor weights = kjt.weights().value().Contiguous(ctx);
  TESSERA_CHECK_EQ(weights.dtype(), DType::kF32, "per-sample weights");
  return weights;
}

QuantizedOutputs EmptyOutputs(Context& ctx, const OutputLayout& layout, DType type) {
  QuantizedOutputs outputs;
  if (layout.has_pooled()) outputs.pooled = Tensor::Empty(ctx, layout.distinct_shape(), type);
  for (const Shape& shape : layout.sequence_shapes())
    outputs.sequences.push_back(Tensor::Empty(ctx, shape, type));
  return outputs;
}

}  // namespace

QuantizedTableBatchedEmbedding::QuantizedTableBatchedEmbedding(
    Context& ctx, std::vector<QuantizedTable> tables, std::vector<EmbeddingFeature> features,
    QuantizedOptions options)
    : state_(std::make_unique<State>()) {
  std::set<std::string> names;
  for (const QuantizedTable& table : tables) {
    TESSERA_CHECK(names.insert(table.name).second,
                  "table {}: a table of that name is there already", table.name);
    CheckQuantizedTable(ctx, table);
    state_->layouts.push_back(LayoutOf(table.codec, table.embedding_dim));
    CheckOutput(table, state_->layouts.back(), options);
  }
  state_->tables = std::move(tables);
  state_->features = std::move(features);
  state_->options = options;
  CheckFeatures(*state_);
  std::vector<std::string> feature_names;
  for (const EmbeddingFeature& f : state_->features) feature_names.push_back(f.name);
  state_->findings = BoundsCheckLog(ctx, std::move(feature_names));
}

QuantizedTableBatchedEmbedding::~QuantizedTableBatchedEmbedding() = default;
QuantizedTableBatchedEmbedding::QuantizedTableBatchedEmbedding(
    QuantizedTableBatchedEmbedding&&) noexcept = default;
QuantizedTableBatchedEmbedding& QuantizedTableBatchedEmbedding::operator=(
    QuantizedTableBatchedEmbedding&&) noexcept = default;

QuantizedOutputs QuantizedTableBatchedEmbedding::Forward(Context& ctx,
                                                         const KeyedJaggedTensor& kjt) const {
  State& state = *state_;
  const Tensor offsets = kjt.offsets(ctx), weights = WeightsOf(ctx, state, kjt);
  CheckDevice(ctx, "quantized lookup", kjt.values(), offsets, weights, state.findings.entries());
  VisitIndexType(kjt.values().dtype(), "ids of a KeyedJaggedTensor", []<typename>() {});
  const OutputLayout layout = LayoutOfOutputs(state, kjt);
  const std::vector<Tensor> rows = RowsOf(ctx, state, kjt);
  QuantizedOutputs outputs = EmptyOutputs(ctx, layout, state.options.output_type);
  std::vector<QuantizedLookupFeature> features;
  for (const OutputPart& part : layout.parts())
    features.push_back(FeatureOf(state, part, rows[static_cast<size_t>(part.feature)], outputs));
  QuantizedLookup(ctx, {features,
                        {offsets.raw_data(), offsets.dtype() == DType::kI64},
                        weights ? weights.data<float>() : nullptr,
                        kjt.values().numel()});
  if (layout.has_pooled()) outputs.pooled = layout.Expand(ctx, outputs.pooled);
  return outputs;
}

const std::vector<QuantizedTable>& QuantizedTableBatchedEmbedding::tables() const {
  return state_->tables;
}
const std::vector<EmbeddingFeature>& QuantizedTableBatchedEmbedding::features() const {
  return state_->features;
}
const QuantizedOptions& QuantizedTableBatchedEmbedding::options() const { return state_->options; }

int64_t QuantizedTableBatchedEmbedding::nbytes() const {
  int64_t bytes = 0;
  for (const QuantizedTable& table : state_->tables) bytes += table.rows.nbytes();
  return bytes;
}

BoundsCheckReport QuantizedTableBatchedEmbedding::bounds_check_report() const {
  return state_->findings.ReportSync();
}

}  // namespace tessera
