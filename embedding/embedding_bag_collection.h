#ifndef TESSERA_EMBEDDING_EMBEDDING_BAG_COLLECTION_H_
#define TESSERA_EMBEDDING_EMBEDDING_BAG_COLLECTION_H_
// Many tables, pooled: KeyedJaggedTensor in, KeyedTensor out.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "embedding/config/embedding_configs.h"
#include "embedding/precomputed_forward.h"
#include "embedding/table_batched_embedding.h"
#include "sparse/keyed_jagged_tensor.h"
#include "sparse/keyed_tensor.h"

namespace tessera {

struct EmbeddingBagCollectionOptions {
  bool is_weighted = false;  // uses the KJT's weights of ids; false: ignores them
  BoundsCheckMode bounds_check = BoundsCheckMode::kFatal;
  float max_gradient = 0;  // above 0: incoming gradients are clamped to ± this
  // One an entry of embedding_names(), or empty (all): per-sample weights of a feature with false
  // get the gradient 0.
  std::vector<bool> feature_requires_grad = {};
  DType output_type = DType::kF32;             // f32, f16 or bf16
  std::optional<uint64_t> rounding_seed = {};  // as in TableBatchedEmbeddingOptions
};

// One launch for all tables and features; in backward, one update a table with its own optimizer.
// The output's columns are in table order, then feature order within the table; a feature read by
// several tables is named feature@table. A collection that was moved from may only be assigned to
// or destroyed.
class EmbeddingBagCollection {
 public:
  // Throws Error for repeated table names, a table without features, rows or dim, or pooling kNone.
  EmbeddingBagCollection(Context& ctx, std::vector<EmbeddingBagConfig> configs,
                         EmbeddingBagCollectionOptions options = {});

  // SUM: Σ p_i·row(id_i); MEAN: that / L; an empty bag gives 0. [B, ΣD]. The KJT may have more keys
  // than are read, in any order. With inverse indices B is the whole batch, and repeated bags are
  // looked up once. Advances the step counter if a tape records. Throws Error for a missing key, a
  // variable batch without inverse indices or, in mode FATAL, a bad id.
  KeyedTensor Forward(Context& ctx, const KeyedJaggedTensor& features);
  // The result of the next forward, where it was begun before the model comes to it
  // (precomputed_forward.h): a pipeline sets it, and Forward takes it.
  PrecomputedForward<KeyedTensor>& ahead() { return ahead_; }

  const std::vector<EmbeddingBagConfig>& configs() const { return configs_; }
  // Names of the output's blocks of columns, in order.
  const std::vector<std::string>& embedding_names() const { return embedding_names_; }
  // The tables themselves: weights, optimizer state, step counter, learning rates.
  TableBatchedEmbedding& tables() { return *tables_; }
  const TableBatchedEmbedding& tables() const { return *tables_; }

 private:
  std::vector<EmbeddingBagConfig> configs_;
  std::vector<std::string> embedding_names_;
  std::vector<int64_t> dims_;
  std::unique_ptr<TableBatchedEmbedding> tables_;
  PrecomputedForward<KeyedTensor> ahead_;
};

}  // namespace tessera
#endif  // TESSERA_EMBEDDING_EMBEDDING_BAG_COLLECTION_H_
