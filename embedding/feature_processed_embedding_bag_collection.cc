#include "embedding/feature_processed_embedding_bag_collection.h"

#include <utility>

#include "runtime/base/check.h"

namespace tessera {

FeatureProcessedEmbeddingBagCollection::FeatureProcessedEmbeddingBagCollection(
    std::unique_ptr<EmbeddingBagCollection> collection, std::shared_ptr<FeatureProcessor> processor)
    : collection_(std::move(collection)), processor_(std::move(processor)) {
  TESSERA_CHECK(collection_ != nullptr && processor_ != nullptr,
                "a collection and a feature processor are needed");
  TESSERA_CHECK(collection_->tables().options().weighted,
                "the collection takes no weights, so a feature processor would do nothing: make it "
                "with is_weighted");
}

KeyedTensor FeatureProcessedEmbeddingBagCollection::Forward(Context& ctx,
                                                            const KeyedJaggedTensor& features) {
  return collection_->Forward(ctx, processor_->Forward(ctx, features));
}

void FeatureProcessedEmbeddingBagCollection::AppendParameters(
    const std::string& prefix, std::vector<NamedParameter>& out) const {
  processor_->AppendParameters(prefix + "_feature_processors.", out);
}

}  // namespace tessera
