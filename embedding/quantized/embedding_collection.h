#ifndef TESSERA_EMBEDDING_QUANTIZED_EMBEDDING_COLLECTION_H_
#define TESSERA_EMBEDDING_QUANTIZED_EMBEDDING_COLLECTION_H_
// Many tables of stored rows, not pooled: KeyedJaggedTensor in, one JaggedTensor of rows a feature
// out; TorchRec's quant.EmbeddingCollection.
#include <string>
#include <utility>
#include <vector>

#include "embedding/quantized/quantized_table_batched_embedding.h"
#include "runtime/context.h"
#include "runtime/named_parameter.h"
#include "sparse/jagged_tensor.h"

namespace tessera::quant {

struct EmbeddingCollectionOptions {
  BoundsCheckMode bounds_check = BoundsCheckMode::kFatal;
  bool need_indices = false;        // as in tessera::EmbeddingCollectionOptions
  DType output_type = DType::kF32;  // as in QuantizedOptions
};

// Several threads may call Forward at a time.
class EmbeddingCollection {
 public:
  // Throws Error for tables without features or with another pooling than NONE, and as
  // QuantizedTableBatchedEmbedding does.
  EmbeddingCollection(Context& ctx, std::vector<QuantizedTable> tables,
                      EmbeddingCollectionOptions options = {});

  // Like tessera::EmbeddingCollection::Forward, from the decoded rows.
  std::vector<std::pair<std::string, JaggedTensor>> Forward(
      Context& ctx, const KeyedJaggedTensor& features) const;

  const QuantizedTableBatchedEmbedding& tables() const { return tables_; }
  bool need_indices() const { return need_indices_; }
  // Stored rows as "embeddings.<table>.weight"; they share the tables' storage.
  std::vector<NamedTensor> StateDict() const;

 private:
  bool need_indices_;
  QuantizedTableBatchedEmbedding tables_;
};

}  // namespace tessera::quant
#endif  // TESSERA_EMBEDDING_QUANTIZED_EMBEDDING_COLLECTION_H_
