#ifndef TESSERA_SHARDING_SHARDED_FEATURE_PROCESSED_EMBEDDING_BAG_COLLECTION_H_
#define TESSERA_SHARDING_SHARDED_FEATURE_PROCESSED_EMBEDDING_BAG_COLLECTION_H_
// A feature processor before a weighted ShardedEmbeddingBagCollection. The processor sees a rank's
// own, whole bags, before ids travel; its parameters are dense ones, whose gradients
// DistributedModelParallel averages over the ranks. (They are of the rank's own loss: unlike in
// TorchRec, there is no factor to undo.)
#include <memory>
#include <string>
#include <vector>

#include "embedding/feature_processor.h"
#include "runtime/context.h"
#include "sharding/sharded_embedding_bag_collection.h"

namespace tessera {

class ShardedFeatureProcessedEmbeddingBagCollection {
 public:
  // Throws Error unless the collection takes weights, and there is a processor.
  ShardedFeatureProcessedEmbeddingBagCollection(
      std::unique_ptr<ShardedEmbeddingBagCollection> collection,
      std::unique_ptr<FeatureProcessor> processor);

  // Processes this rank's features, then looks them up like ShardedEmbeddingBagCollection::Forward:
  // [B, ΣD], B of this rank. Throws Error as the processor and the collection do. Every rank calls.
  KeyedTensor Forward(Context& ctx, const KeyedJaggedTensor& features);

  // The processor's, each as prefix + "_feature_processors." + its name.
  void AppendParameters(const std::string& prefix, std::vector<NamedParameter>& out) const;
  ShardedEmbeddingBagCollection& embedding_bag_collection() { return *collection_; }
  FeatureProcessor& feature_processor() { return *processor_; }

 private:
  std::unique_ptr<ShardedEmbeddingBagCollection> collection_;
  std::unique_ptr<FeatureProcessor> processor_;
};

}  // namespace tessera
#endif  // TESSERA_SHARDING_SHARDED_FEATURE_PROCESSED_EMBEDDING_BAG_COLLECTION_H_
