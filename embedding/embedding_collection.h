#ifndef TESSERA_EMBEDDING_EMBEDDING_COLLECTION_H_
#define TESSERA_EMBEDDING_EMBEDDING_COLLECTION_H_
// Many tables, not pooled: KeyedJaggedTensor in, one JaggedTensor of rows a feature out.
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "embedding/config/embedding_configs.h"
#include "embedding/precomputed_forward.h"
#include "embedding/table_batched_embedding.h"
#include "sparse/jagged_tensor.h"
#include "sparse/keyed_jagged_tensor.h"

namespace tessera {

struct EmbeddingCollectionOptions {
  BoundsCheckMode bounds_check = BoundsCheckMode::kFatal;
  float max_gradient = 0;  // above 0: incoming gradients are clamped to ± this
  bool need_indices =
      false;  // the ids come along, as the weights of each JaggedTensor (f32: exact below 2^24)
  DType output_type = DType::kF32;             // f32, f16 or bf16
  std::optional<uint64_t> rounding_seed = {};  // as in TableBatchedEmbeddingOptions
};

// Name and rows of each feature.
using NamedSequences = std::vector<std::pair<std::string, JaggedTensor>>;

// Tables without pooling, used like an EmbeddingBagCollection. Unlike TorchRec's, tables may have
// different dims.
class EmbeddingCollection {
 public:
  // Throws Error for repeated table names, or a table without features, rows or dim.
  EmbeddingCollection(Context& ctx, std::vector<EmbeddingConfig> configs,
                      EmbeddingCollectionOptions options = {});

  // In table order, then feature order in the table: feature name (feature@table if several tables
  // read it) and its rows [N_f, D] under the lengths of the KJT, each key's own where they differ;
  // inverse indices are not looked at. Training as in EmbeddingBagCollection::Forward.
  NamedSequences Forward(Context& ctx, const KeyedJaggedTensor& features);
  // The result of the next forward, where it was begun before the model comes to it
  // (precomputed_forward.h): a pipeline sets it, and Forward takes it.
  PrecomputedForward<NamedSequences>& ahead() { return ahead_; }

  const std::vector<EmbeddingConfig>& configs() const { return configs_; }
  TableBatchedEmbedding& tables() { return *tables_; }
  const TableBatchedEmbedding& tables() const { return *tables_; }

 private:
  std::vector<EmbeddingConfig> configs_;
  EmbeddingCollectionOptions options_;
  std::unique_ptr<TableBatchedEmbedding> tables_;
  PrecomputedForward<NamedSequences> ahead_;
};

}  // namespace tessera
#endif  // TESSERA_EMBEDDING_EMBEDDING_COLLECTION_H_
