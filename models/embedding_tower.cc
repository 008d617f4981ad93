#include "models/embedding_tower.h"

#include "runtime/base/check.h"
#include "runtime/ops/shaping.h"

namespace tessera {

EmbeddingTower::EmbeddingTower(std::unique_ptr<EmbeddingBagCollection> embedding,
                               std::unique_ptr<PooledInteraction> interaction)
    : pooled_(std::move(embedding)), pooled_interaction_(std::move(interaction)) {
  TESSERA_CHECK(pooled_ && pooled_interaction_, "EmbeddingTower: tables and an interaction");
}

EmbeddingTower::EmbeddingTower(std::unique_ptr<EmbeddingCollection> embedding,
                               std::unique_ptr<SequenceInteraction> interaction)
    : sequences_(std::move(embedding)), sequence_interaction_(std::move(interaction)) {
  TESSERA_CHECK(sequences_ && sequence_interaction_, "EmbeddingTower: tables and an interaction");
}

Variable EmbeddingTower::Forward(Context& ctx, const KeyedJaggedTensor& features) {
  if (pooled_) return pooled_interaction_->Forward(ctx, pooled_->Forward(ctx, features));
  return sequence_interaction_->Forward(ctx, sequences_->Forward(ctx, features));
}

void EmbeddingTower::AppendParameters(const std::string& prefix,
                                      std::vector<NamedParameter>& out) const {
  if (pooled_)
    pooled_interaction_->AppendParameters(prefix + "interaction.", out);
  else
    sequence_interaction_->AppendParameters(prefix + "interaction.", out);
}

EmbeddingTowerCollection::EmbeddingTowerCollection(
    std::vector<std::unique_ptr<EmbeddingTower>> towers)
    : towers_(std::move(towers)) {
  TESSERA_CHECK(!towers_.empty(), "EmbeddingTowerCollection: no towers");
}

Variable EmbeddingTowerCollection::Forward(Context& ctx, const KeyedJaggedTensor* features,
                                           const KeyedJaggedTensor* weighted_features) {
  std::vector<Variable> outputs;
  for (size_t t = 0; t < towers_.size(); ++t) {
    const bool weighted = towers_[t]->is_weighted();
    const KeyedJaggedTensor* taken = weighted ? weighted_features : features;
    TESSERA_CHECK(taken != nullptr, "EmbeddingTowerCollection: tower {} takes {}", t,
                  weighted ? "weighted_features" : "features");
    outputs.push_back(towers_[t]->Forward(ctx, *taken));
  }
  return Concat(ctx, outputs, 1);
}

void EmbeddingTowerCollection::AppendParameters(const std::string& prefix,
                                                std::vector<NamedParameter>& out) const {
  for (size_t t = 0; t < towers_.size(); ++t)
    towers_[t]->AppendParameters(Format("{}towers.{}.", prefix, t), out);
}

}  // namespace tessera
