#include "sharding/quantized/sharded_quant_embedding_collection.h"

#include "embedding/collection_features.h"

namespace tessera::quant {

ShardedQuantEmbeddingCollection::ShardedQuantEmbeddingCollection(
    Context& ctx, const EmbeddingCollection& collection, const ShardingPlan& plan,
    ShardedQuantOptions options)
    : need_indices_(collection.need_indices()),
      tables_(ctx, collection.tables(), plan, std::move(options)) {}

std::vector<std::pair<std::string, JaggedTensor>> ShardedQuantEmbeddingCollection::Forward(
    Context& ctx, const KeyedJaggedTensor& features) const {
  const QuantizedOutputs outputs = tables_.Forward(ctx, features);
  const std::vector<Variable> rows(outputs.sequences.begin(), outputs.sequences.end());
  return internal::NamedRows(ctx, features, tables_.features(), rows, need_indices_);
}

}  // namespace tessera::quant
