#include "embedding/table/table_batch.h"

#include "embedding/lookup/feature_ids.h"
#include "embedding/storage/rows_on_use.h"
#include "runtime/element_at.h"

namespace tessera::internal {

void TablesState::CheckForwardIsStep(std::string_view what) const {
  TESSERA_CHECK(!kept.accumulates(),
                "{} beside several forwards of one step (AccumulateForwards): rows change hands in "
                "each forward, so the step would not have the bits of one batch",
                what);
}

ScratchVector<FeatureShape> ShapesOf(const TablesState& state, const KeyedJaggedTensor& kjt) {
  ScratchVector<FeatureShape> shapes;
  shapes.reserve(state.features.size());
  for (size_t f = 0; f < state.features.size(); ++f) {
    const EmbeddingTable& table = state.table_of(f);
    shapes.push_back({kjt.IndexOf(state.features[f].key, static_cast<int64_t>(f)),
                      table.config.embedding_dim, table.pooling == PoolingType::kNone});
  }
  return shapes;
}

namespace {

// The ids that each feature is to read.
std::vector<Tensor> IdsOf(Context& ctx, const TablesState& state, const KeyedJaggedTensor& kjt,
                          std::span<const FeatureShape> shapes, const BoundsCheckLog& findings) {
  ScratchVector<ReadFeature> read;
  read.reserve(shapes.size());
  for (size_t f = 0; f < shapes.size(); ++f)
    read.push_back(
        {state.features[f].name, static_cast<size_t>(shapes[f].key), &state.table_of(f).config});
  return ReadIds(ctx, state.options.bounds_check, kjt, read, findings);
}

}  // namespace

TableBatch::TableBatch(Context& ctx, const TablesState& state, const KeyedJaggedTensor& kjt,
                       const BoundsCheckLog& findings)
    : TableBatch(ctx, state, kjt, ShapesOf(state, kjt), findings) {}

TableBatch::TableBatch(Context& ctx, const TablesState& state, const KeyedJaggedTensor& kjt,
                       std::span<const FeatureShape> shapes, const BoundsCheckLog& findings)
    : offsets_(kjt.offsets(ctx)), layout_(kjt, shapes), num_ids_(kjt.values().numel()) {
  TESSERA_CHECK(!state.options.weighted || kjt.is_weighted(),
                "the collection is weighted, but the KeyedJaggedTensor has no weights");
  if (state.options.weighted) weights_ = kjt.weights().value().Contiguous(ctx);
  if (weights_) TESSERA_CHECK_EQ(weights_.dtype(), DType::kF32, "per-sample weights");
  CheckDevice(ctx, "embedding lookup", kjt.values(), offsets_, weights_, findings.entries());
  if (const InverseIndices* inverse = kjt.inverse_indices_or_none())
    CheckDevice(ctx, "embedding lookup, inverse indices", inverse->indices);
  VisitIndexType(kjt.values().dtype(), "ids of a KeyedJaggedTensor", []<typename>() {});
  ids_ = IdsOf(ctx, state, kjt, shapes, findings);
  cached_ = CachedBatch(ctx, state, kjt, ids_);
  for (size_t f = 0; f < shapes.size(); ++f) {
    if (!state.table_of(f).on_use) continue;
    const auto key = static_cast<size_t>(shapes[f].key);
    on_use_.push_back({f, kjt.offset_per_key()[key], kjt.offset_per_key()[key + 1]});
  }
}

void TableBatch::StartRows(const TablesState& state) const {
  for (const auto& [feature, begin, end] : on_use_)
    state.table_of(feature).on_use->Start(ids_[feature].Rows(begin, end));
}

void TableBatch::RecordStream(const Context& ctx) const {
  offsets_.RecordStream(ctx);
  weights_.RecordStream(ctx);
  for (const Tensor& ids : ids_) ids.RecordStream(ctx);
}

ScratchVector<LookupFeature> TableBatch::Features(const TablesState& state,
                                                  const OutputTensors& tensors) const {
  // Features are filled in place: copying one just after it was written would wait for its stores.
  ScratchVector<LookupFeature> features(layout_.parts().size());
  for (size_t i = 0; i < features.size(); ++i) {
    const OutputPart& part = layout_.parts()[i];
    LookupFeature& feature = features[i];
    const auto f = static_cast<size_t>(part.feature);
    const EmbeddingTable& table = state.table_of(f);
    const Tensor& output =
        part.sequence < 0 ? tensors.pooled : tensors.sequences[static_cast<size_t>(part.sequence)];
    table.SetRows(feature);
    feature.ids = {ids_[f].raw_data(), ids_[f].dtype() == DType::kI64};
    feature.first_bag = part.first_bag;
    feature.num_bags = part.num_bags;
    feature.pooling = table.pooling;
    feature.output = ElementAt(output, part.at);
    feature.output_type = output.dtype();
    feature.output_stride = part.stride;
  }
  return features;
}

LookupArgs TableBatch::Args(std::span<const LookupFeature> features) const {
  return {features,
          {offsets_.raw_data(), offsets_.dtype() == DType::kI64},
          weights_ ? weights_.data<float>() : nullptr,
          num_ids_};
}

UpdateTable TableBatch::UpdateOf(const TablesState& state, int index) const {
  UpdateTable update = state.tables[static_cast<size_t>(index)].ForUpdate();
  update.gradient_scale = state.options.sharding.gradient_scale;
  for (size_t p = 0; p < layout_.parts().size(); ++p)
    if (state.features[static_cast<size_t>(layout_.parts()[p].feature)].table == index)
      update.features.push_back(static_cast<int>(p));
  return update;
}

}  // namespace tessera::internal
