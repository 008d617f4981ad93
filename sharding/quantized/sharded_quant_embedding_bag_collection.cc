#include "sharding/quantized/sharded_quant_embedding_bag_collection.h"

#include <utility>

namespace tessera::quant {

ShardedQuantEmbeddingBagCollection::ShardedQuantEmbeddingBagCollection(
    Context& ctx, const EmbeddingBagCollection& collection, const ShardingPlan& plan,
    ShardedQuantOptions options)
    : tables_(ctx, collection.tables(), plan, std::move(options)),
      embedding_names_(collection.embedding_names()) {
  for (const EmbeddingFeature& f : tables_.features())
    dims_.push_back(tables_.tables()[static_cast<size_t>(f.table)].embedding_dim);
}

KeyedTensor ShardedQuantEmbeddingBagCollection::Forward(Context& ctx,
                                                        const KeyedJaggedTensor& features) const {
  CheckBecomesKeyedTensor(features);
  return KeyedTensor(embedding_names_, dims_, Variable(tables_.Forward(ctx, features).pooled));
}

}  // namespace tessera::quant
