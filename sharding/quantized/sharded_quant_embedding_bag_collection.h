#ifndef TESSERA_SHARDING_QUANTIZED_SHARDED_QUANT_EMBEDDING_BAG_COLLECTION_H_
#define TESSERA_SHARDING_QUANTIZED_SHARDED_QUANT_EMBEDDING_BAG_COLLECTION_H_
// A quant::EmbeddingBagCollection over several devices or threads of one process
// (sharding/quantized/sharded_quantized_tables.h); TorchRec's ShardedQuantEmbeddingBagCollection.
#include <string>
#include <vector>

#include "embedding/quantized/embedding_bag_collection.h"
#include "runtime/context.h"
#include "sharding/quantized/sharded_quantized_tables.h"

namespace tessera::quant {

// Several threads may call Forward at a time.
class ShardedQuantEmbeddingBagCollection {
 public:
  // The collection may go afterwards; ranks on the host go on reading the rows that it had there.
  // Throws Error as ShardedQuantizedTables does.
  ShardedQuantEmbeddingBagCollection(Context& ctx, const EmbeddingBagCollection& collection,
                                     const ShardingPlan& plan, ShardedQuantOptions options = {});

  // Like EmbeddingBagCollection::Forward, on ctx's device.
  KeyedTensor Forward(Context& ctx, const KeyedJaggedTensor& features) const;

  const std::vector<std::string>& embedding_names() const { return embedding_names_; }
  const ShardedQuantizedTables& tables() const { return tables_; }

 private:
  ShardedQuantizedTables tables_;
  std::vector<std::string> embedding_names_;
  std::vector<int64_t> dims_;
};

}  // namespace tessera::quant
#endif  // TESSERA_SHARDING_QUANTIZED_SHARDED_QUANT_EMBEDDING_BAG_COLLECTION_H_
