#ifndef TESSERA_EMBEDDING_FEATURE_PROCESSED_EMBEDDING_BAG_COLLECTION_H_
#define TESSERA_EMBEDDING_FEATURE_PROCESSED_EMBEDDING_BAG_COLLECTION_H_
// A feature processor before a weighted EmbeddingBagCollection (TorchRec's class of this name).
//
//   features -> processor -> features with weights -> collection -> pooled rows
//
// Backward updates the tables, with their own rules, and gives the processor's parameters their
// gradient, for a dense optimizer.
#include <memory>
#include <string>
#include <vector>

#include "embedding/embedding_bag_collection.h"
#include "embedding/feature_processor.h"
#include "runtime/context.h"

namespace tessera {

class FeatureProcessedEmbeddingBagCollection {
 public:
  // Throws Error unless the collection takes weights, and there is a processor.
  FeatureProcessedEmbeddingBagCollection(std::unique_ptr<EmbeddingBagCollection> collection,
                                         std::shared_ptr<FeatureProcessor> processor);

  // Like EmbeddingBagCollection::Forward; throws also what the processor refuses.
  KeyedTensor Forward(Context& ctx, const KeyedJaggedTensor& features);

  // The processor's, each as prefix + "_feature_processors." + its name.
  void AppendParameters(const std::string& prefix, std::vector<NamedParameter>& out) const;
  EmbeddingBagCollection& embedding_bag_collection() { return *collection_; }
  const EmbeddingBagCollection& embedding_bag_collection() const { return *collection_; }
  FeatureProcessor& feature_processor() { return *processor_; }
  const std::shared_ptr<FeatureProcessor>& shared_feature_processor() const { return processor_; }

 private:
  std::unique_ptr<EmbeddingBagCollection> collection_;
  std::shared_ptr<FeatureProcessor> processor_;
};

}  // namespace tessera
#endif  // TESSERA_EMBEDDING_FEATURE_PROCESSED_EMBEDDING_BAG_COLLECTION_H_
