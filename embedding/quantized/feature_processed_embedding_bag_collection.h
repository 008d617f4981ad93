#ifndef TESSERA_EMBEDDING_QUANTIZED_FEATURE_PROCESSED_EMBEDDING_BAG_COLLECTION_H_
#define TESSERA_EMBEDDING_QUANTIZED_FEATURE_PROCESSED_EMBEDDING_BAG_COLLECTION_H_
// A feature processor before a weighted collection of stored rows (TorchRec's
// quant.FeatureProcessedEmbeddingBagCollection).
#include <memory>

#include "embedding/feature_processed_embedding_bag_collection.h"
#include "embedding/quantized/quantize_tables.h"
#include "runtime/context.h"

namespace tessera::quant {

class FeatureProcessedEmbeddingBagCollection {
 public:
  // Throws Error unless the collection takes weights, and there is a processor.
  FeatureProcessedEmbeddingBagCollection(EmbeddingBagCollection collection,
                                         std::shared_ptr<FeatureProcessor> processor);

  // Like EmbeddingBagCollection::Forward; throws also what the processor refuses. Several threads
  // may call it at a time if they may call the processor's.
  KeyedTensor Forward(Context& ctx, const KeyedJaggedTensor& features) const;

  const EmbeddingBagCollection& embedding_bag_collection() const { return collection_; }
  FeatureProcessor& feature_processor() const { return *processor_; }

 private:
  EmbeddingBagCollection collection_;
  std::shared_ptr<FeatureProcessor> processor_;
};

// Makes a collection of stored rows that answers as the float one does. Both share one processor,
// so this one sees what it learns later.
FeatureProcessedEmbeddingBagCollection Quantize(
    Context& ctx, const tessera::FeatureProcessedEmbeddingBagCollection& collection,
    const TablesQuantization& how = {}, QuantizedOptions options = {});

}  // namespace tessera::quant
#endif  // TESSERA_EMBEDDING_QUANTIZED_FEATURE_PROCESSED_EMBEDDING_BAG_COLLECTION_H_
