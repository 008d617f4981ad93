#ifndef TESSERA_MODELS_EMBEDDING_TOWER_H_
#define TESSERA_MODELS_EMBEDDING_TOWER_H_
// Tables and what is made of their rows, as one module (torchrec/modules/embedding_tower.py):
//
//   features -> tables -> interaction -> [B, N]
//
// so that, over ranks, the interaction's small output travels and not the rows
// (sharded_embedding_tower_collection.h).
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "embedding/embedding_bag_collection.h"
#include "embedding/embedding_collection.h"
#include "models/layers/module.h"
#include "runtime/context.h"

namespace tessera {

// An interaction turns pooled rows, or sequences, into [B, N].
class PooledInteraction : public Module {
 public:
  // Pooled rows [B, ΣD] -> [B, N].
  virtual Variable Forward(Context& ctx, const KeyedTensor& embeddings) const = 0;
};
class SequenceInteraction : public Module {
 public:
  // The rows of each feature, [N_f, D] under the lengths of its B bags -> [B, N].
  virtual Variable Forward(
      Context& ctx, const std::vector<std::pair<std::string, JaggedTensor>>& embeddings) const = 0;
};

// Parameters: the interaction's, as "interaction.…". Tables are trained inside backward.
class EmbeddingTower final : public Module {
 public:
  // REQUIRES: both are given.
  EmbeddingTower(std::unique_ptr<EmbeddingBagCollection> embedding,
                 std::unique_ptr<PooledInteraction> interaction);
  EmbeddingTower(std::unique_ptr<EmbeddingCollection> embedding,
                 std::unique_ptr<SequenceInteraction> interaction);

  // Like the collection's Forward, then the interaction.
  Variable Forward(Context& ctx, const KeyedJaggedTensor& features);

  // Whether the tables take per-sample weights.
  bool is_weighted() const { return tables().options().weighted; }
  TableBatchedEmbedding& tables() { return pooled_ ? pooled_->tables() : sequences_->tables(); }
  const TableBatchedEmbedding& tables() const {
    return pooled_ ? std::as_const(*pooled_).tables() : std::as_const(*sequences_).tables();
  }
  void AppendParameters(const std::string& prefix, std::vector<NamedParameter>& out) const override;

 private:
  std::unique_ptr<EmbeddingBagCollection> pooled_;  // or sequences
  std::unique_ptr<EmbeddingCollection> sequences_;
  std::unique_ptr<PooledInteraction> pooled_interaction_;
  std::unique_ptr<SequenceInteraction> sequence_interaction_;
};

// Parameters: "towers.<i>.interaction.…".
class EmbeddingTowerCollection final : public Module {
 public:
  // Throws Error for no towers.
  explicit EmbeddingTowerCollection(std::vector<std::unique_ptr<EmbeddingTower>> towers);

  // The towers' outputs side by side: [B, ΣN]. Weighted towers get weighted_features, the others
  // features; one that no tower takes may be null.
  Variable Forward(Context& ctx, const KeyedJaggedTensor* features,
                   const KeyedJaggedTensor* weighted_features = nullptr);

  size_t num_towers() const { return towers_.size(); }
  EmbeddingTower& tower(size_t index) { return *towers_[index]; }
  void AppendParameters(const std::string& prefix, std::vector<NamedParameter>& out) const override;

 private:
  std::vector<std::unique_ptr<EmbeddingTower>> towers_;
};

}  // namespace tessera
#endif  // TESSERA_MODELS_EMBEDDING_TOWER_H_
