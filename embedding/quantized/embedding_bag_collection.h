#ifndef TESSERA_EMBEDDING_QUANTIZED_EMBEDDING_BAG_COLLECTION_H_
#define TESSERA_EMBEDDING_QUANTIZED_EMBEDDING_BAG_COLLECTION_H_
// Many tables of stored rows, pooled: KeyedJaggedTensor in, KeyedTensor out; TorchRec's
// quant.EmbeddingBagCollection. quantize_tables.h makes such tables.
#include <string>
#include <vector>

#include "embedding/quantized/quantized_table_batched_embedding.h"
#include "runtime/context.h"
#include "runtime/named_parameter.h"
#include "sparse/keyed_tensor.h"

namespace tessera::quant {

// Throws Error for a batch of its own for each key, unless it has inverse indices: its pooled rows
// are no KeyedTensor.
void CheckBecomesKeyedTensor(const KeyedJaggedTensor& features);

// The output's columns are in the order of TorchRec's module: tables grouped by pooling in order of
// first appearance, then table order, then feature order within the table. A feature that several
// tables read is named feature@table. Several threads may call Forward at a time. A
// collection that was moved from may only be assigned to or destroyed.
class EmbeddingBagCollection {
 public:
  // Throws Error for tables without features or with pooling NONE, and as
  // QuantizedTableBatchedEmbedding does.
  EmbeddingBagCollection(Context& ctx, std::vector<QuantizedTable> tables,
                         QuantizedOptions options = {});

  // [B, ΣD] of the options' output type; as tessera::EmbeddingBagCollection::Forward, with the bits
  // of the decoded rows.
  KeyedTensor Forward(Context& ctx, const KeyedJaggedTensor& features) const;

  const std::vector<std::string>& embedding_names() const { return embedding_names_; }
  const QuantizedTableBatchedEmbedding& tables() const { return tables_; }
  // Stored rows as "embedding_bags.<table>.weight"; they share the tables' storage.
  std::vector<NamedTensor> StateDict() const;

 private:
  QuantizedTableBatchedEmbedding tables_;
  std::vector<std::string> embedding_names_;
  std::vector<int64_t> dims_;
};

}  // namespace tessera::quant
#endif  // TESSERA_EMBEDDING_QUANTIZED_EMBEDDING_BAG_COLLECTION_H_
