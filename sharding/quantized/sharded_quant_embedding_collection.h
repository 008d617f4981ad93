#ifndef TESSERA_SHARDING_QUANTIZED_SHARDED_QUANT_EMBEDDING_COLLECTION_H_
#define TESSERA_SHARDING_QUANTIZED_SHARDED_QUANT_EMBEDDING_COLLECTION_H_
// A quant::EmbeddingCollection over several devices or threads of one process
// (sharding/quantized/sharded_quantized_tables.h); TorchRec's ShardedQuantEmbeddingCollection.
#include <string>
#include <utility>
#include <vector>

#include "embedding/quantized/embedding_collection.h"
#include "runtime/context.h"
#include "sharding/quantized/sharded_quantized_tables.h"

namespace tessera::quant {

// Several threads may call Forward at a time.
class ShardedQuantEmbeddingCollection {
 public:
  // Takes what ShardedQuantEmbeddingBagCollection takes.
  ShardedQuantEmbeddingCollection(Context& ctx, const EmbeddingCollection& collection,
                                  const ShardingPlan& plan, ShardedQuantOptions options = {});

  // Like EmbeddingCollection::Forward, on ctx's device, with the same bits.
  std::vector<std::pair<std::string, JaggedTensor>> Forward(
      Context& ctx, const KeyedJaggedTensor& features) const;

  const ShardedQuantizedTables& tables() const { return tables_; }

 private:
  bool need_indices_;
  ShardedQuantizedTables tables_;
};

}  // namespace tessera::quant
#endif  // TESSERA_SHARDING_QUANTIZED_SHARDED_QUANT_EMBEDDING_COLLECTION_H_
