#include "embedding/quantized/feature_processed_embedding_bag_collection.h"

#include <utility>

#include "runtime/base/check.h"

namespace tessera::quant {

FeatureProcessedEmbeddingBagCollection::FeatureProcessedEmbeddingBagCollection(
    EmbeddingBagCollection collection, std::shared_ptr<FeatureProcessor> processor)
    : collection_(std::move(collection)), processor_(std::move(processor)) {
  TESSERA_CHECK(processor_ != nullptr, "a feature processor is needed");
  TESSERA_CHECK(collection_.tables().options().weighted,
                "the collection takes no weights, so a feature processor would do nothing: make it "
                "weighted");
}

KeyedTensor FeatureProcessedEmbeddingBagCollection::Forward(
    Context& ctx, const KeyedJaggedTensor& features) const {
  return collection_.Forward(ctx, processor_->Forward(ctx, features));
}

FeatureProcessedEmbeddingBagCollection Quantize(
    Context& ctx, const tessera::FeatureProcessedEmbeddingBagCollection& collection,
    const TablesQuantization& how, QuantizedOptions options) {
  return {Quantize(ctx, collection.embedding_bag_collection(), how, options),
          collection.shared_feature_processor()};
}

}  // namespace tessera::quant
