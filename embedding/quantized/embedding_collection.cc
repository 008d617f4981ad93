#include "embedding/quantized/embedding_collection.h"

#include "embedding/collection_features.h"
#include "runtime/base/check.h"

namespace tessera::quant {
namespace {

QuantizedTableBatchedEmbedding MakeTables(Context& ctx, std::vector<QuantizedTable> tables,
                                          const EmbeddingCollectionOptions& options) {
  for (const QuantizedTable& table : tables)
    TESSERA_CHECK(table.pooling == PoolingType::kNone,
                  "table {}: pooling {} needs an EmbeddingBagCollection", table.name,
                  table.pooling);
  std::vector<EmbeddingFeature> features = internal::ListFeatures(tables);
  return QuantizedTableBatchedEmbedding(
      ctx, std::move(tables), std::move(features),
      {.bounds_check = options.bounds_check, .output_type = options.output_type});
}

}  // namespace

EmbeddingCollection::EmbeddingCollection(Context& ctx, std::vector<QuantizedTable> tables,
                                         EmbeddingCollectionOptions options)
    : need_indices_(options.need_indices), tables_(MakeTables(ctx, std::move(tables), options)) {}

std::vector<std::pair<std::string, JaggedTensor>> EmbeddingCollection::Forward(
    Context& ctx, const KeyedJaggedTensor& features) const {
  const QuantizedOutputs outputs = tables_.Forward(ctx, features);
  const std::vector<Variable> rows(outputs.sequences.begin(), outputs.sequences.end());
  return internal::NamedRows(ctx, features, tables_.features(), rows, need_indices_);
}

std::vector<NamedTensor> EmbeddingCollection::StateDict() const {
  std::vector<NamedTensor> state;
  for (const QuantizedTable& table : tables_.tables())
    state.push_back({"embeddings." + table.name + ".weight", table.rows});
  return state;
}

}  // namespace tessera::quant
