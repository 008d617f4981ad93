#include "embedding/quantized/quantized_table_batched_embedding.h"

#include <utility>

#include "embedding/quantized/quantized_lookup.h"
#include "embedding/quantized/quantized_state.h"
#include "runtime/element_at.h"

namespace tessera {
namespace {

using internal::OutputLayout;
using internal::OutputPart;
using State = internal::QuantizedState;

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
  feature.output = internal::ElementAt(output, part.at);
  feature.output_type = output.dtype();
  feature.output_stride = part.stride;
  return feature;
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
    : state_(std::make_unique<State>(ctx, std::move(tables), std::move(features), options)) {
  for (const QuantizedTable& table : state_->tables) CheckQuantizedTable(ctx, table);
}

QuantizedTableBatchedEmbedding::~QuantizedTableBatchedEmbedding() = default;
QuantizedTableBatchedEmbedding::QuantizedTableBatchedEmbedding(
    QuantizedTableBatchedEmbedding&&) noexcept = default;
QuantizedTableBatchedEmbedding& QuantizedTableBatchedEmbedding::operator=(
    QuantizedTableBatchedEmbedding&&) noexcept = default;

QuantizedOutputs QuantizedTableBatchedEmbedding::Forward(Context& ctx,
                                                         const KeyedJaggedTensor& kjt) const {
  State& state = *state_;
  const Tensor offsets = kjt.offsets(ctx), weights = state.WeightsOf(ctx, kjt);
  state.CheckBatch(ctx, kjt, weights);
  const OutputLayout layout = state.LayoutOfOutputs(kjt);
  const std::vector<Tensor> rows = state.RowsOf(ctx, kjt);
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
