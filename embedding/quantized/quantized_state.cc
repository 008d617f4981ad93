#include "embedding/quantized/quantized_state.h"

#include <set>
#include <utility>

#include "embedding/lookup/bounds_check.h"
#include "embedding/quantized/default_rows.h"

namespace tessera::internal {
namespace {

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

void CheckFeatures(const QuantizedState& state) {
  for (const EmbeddingFeature& f : state.features)
    TESSERA_CHECK(f.table >= 0 && static_cast<size_t>(f.table) < state.tables.size(),
                  "feature {}: table {} of {}", f.name, f.table, state.tables.size());
}

// Elements of one row of the output.
int64_t WidthOf(const QuantizedState& state, size_t feature) {
  const bool stored = state.options.output_type == DType::kU8;
  return stored ? state.layout_of(feature).used_bytes : state.table_of(feature).embedding_dim;
}

CheckedIds RangeOf(const QuantizedState& state, size_t feature, const KeyedJaggedTensor& kjt) {
  const EmbeddingFeature& f = state.features[feature];
  const auto key = static_cast<size_t>(kjt.IndexOf(f.key));
  return {kjt.offset_per_key()[key],         kjt.offset_per_key()[key + 1],
          state.table_of(feature).num_ids(), f.name,
          kjt.lengths_offset_per_key()[key], kjt.stride_per_key()[key]};
}

// All features are checked, since a log has an entry for each. All threads share the log.
std::vector<Tensor> Checked(Context& ctx, QuantizedState& state, BoundsCheckMode mode,
                            const KeyedJaggedTensor& kjt, std::span<const CheckedIds> ranges) {
  if (mode == BoundsCheckMode::kNone) return std::vector<Tensor>(ranges.size(), kjt.values());
  std::unique_lock<std::mutex> lock(state.findings_mutex, std::defer_lock);
  if (mode == BoundsCheckMode::kWarning) lock.lock();
  return CheckIds(ctx, mode, kjt.values(), kjt.offsets(ctx), ranges, state.findings);
}

// Ids of features whose tables have a default row are only counted.
std::vector<Tensor> CheckedFor(Context& ctx, QuantizedState& state, const KeyedJaggedTensor& kjt,
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

}  // namespace

QuantizedState::QuantizedState(Context& ctx, std::vector<QuantizedTable> the_tables,
                               std::vector<EmbeddingFeature> the_features,
                               QuantizedOptions the_options)
    : tables(std::move(the_tables)), features(std::move(the_features)), options(the_options) {
  std::set<std::string> names;
  for (const QuantizedTable& table : tables) {
    TESSERA_CHECK(names.insert(table.name).second,
                  "table {}: a table of that name is there already", table.name);
    layouts.push_back(LayoutOf(table.codec, table.embedding_dim));
    CheckOutput(table, layouts.back(), options);
  }
  CheckFeatures(*this);
  std::vector<std::string> feature_names;
  for (const EmbeddingFeature& f : features) feature_names.push_back(f.name);
  findings = BoundsCheckLog(ctx, std::move(feature_names));
}

std::vector<Tensor> QuantizedState::RowsOf(Context& ctx, const KeyedJaggedTensor& kjt) {
  std::vector<CheckedIds> ranges;
  for (size_t f = 0; f < features.size(); ++f) ranges.push_back(RangeOf(*this, f, kjt));
  std::vector<Tensor> ids = CheckedFor(ctx, *this, kjt, ranges);
  std::vector<RemappedIds> remapped;
  std::vector<DefaultedIds> defaulted;
  for (size_t f = 0; f < ids.size(); ++f) {
    const QuantizedTable& table = table_of(f);
    const int64_t begin = ranges[f].begin, end = ranges[f].end;
    const IndexRemap* remap = table.index_remap.get();
    remapped.push_back({ids[f], begin, end, table.has_default_row ? nullptr : remap});
    if (table.has_default_row)
      defaulted.push_back({kjt.values(), begin, end, table.num_embeddings, remap});
  }
  ids = RemapIds(ctx, remapped);
  const std::vector<Tensor> rows = RowsOrDefault(ctx, defaulted);
  auto next = rows.begin();
  for (size_t f = 0; f < ids.size(); ++f)
    if (table_of(f).has_default_row) ids[f] = *next++;
  return ids;
}

OutputLayout QuantizedState::LayoutOfOutputs(const KeyedJaggedTensor& kjt) const {
  std::vector<FeatureShape> shapes;
  for (size_t f = 0; f < features.size(); ++f)
    shapes.push_back({kjt.IndexOf(features[f].key), WidthOf(*this, f), IsSequence(table_of(f))});
  return OutputLayout(kjt, shapes);
}

Tensor QuantizedState::WeightsOf(Context& ctx, const KeyedJaggedTensor& kjt) const {
  if (!options.weighted) return {};
  TESSERA_CHECK(kjt.is_weighted(),
                "the tables are weighted, but the KeyedJaggedTensor has no weights");
  const Tensor weights = kjt.weights().value().Contiguous(ctx);
  TESSERA_CHECK_EQ(weights.dtype(), DType::kF32, "per-sample weights");
  return weights;
}

void QuantizedState::CheckBatch(Context& ctx, const KeyedJaggedTensor& kjt,
                                const Tensor& weights) const {
  CheckDevice(ctx, "quantized lookup", kjt.values(), kjt.offsets(ctx), weights, findings.entries());
  VisitIndexType(kjt.values().dtype(), "ids of a KeyedJaggedTensor", []<typename>() {});
}

}  // namespace tessera::internal
