#include "embedding/managed_collision/managed_collision_embedding.h"

namespace tessera {
namespace {

void CheckSameTables(const TableBatchedEmbedding& tables,
                     const std::vector<BaseEmbeddingConfig>& configs) {
  TESSERA_CHECK_EQ(static_cast<size_t>(tables.num_tables()), configs.size(),
                   "managed collision: tables of the embeddings, and of the modules");
  for (int t = 0; t < tables.num_tables(); ++t) {
    const BaseEmbeddingConfig &table = tables.table(t), &config = configs[static_cast<size_t>(t)];
    TESSERA_CHECK_EQ(table.name, config.name, "managed collision: table {}", t);
    TESSERA_CHECK_EQ(table.num_embeddings, config.num_embeddings,
                     "managed collision: rows of table {}", table.name);
    TESSERA_CHECK(table.feature_names == config.feature_names,
                  "managed collision: table {} has other features than its module", table.name);
    TESSERA_CHECK(table.index_remap == nullptr,
                  "managed collision: table {} is pruned: its ids have been remapped", table.name);
  }
}

template <typename Collection>
void CheckParts(const std::unique_ptr<Collection>& embeddings,
                const std::shared_ptr<ManagedCollisionCollection>& collisions) {
  TESSERA_CHECK(embeddings != nullptr && collisions != nullptr,
                "managed collision: embeddings and a collection of modules are needed");
  CheckSameTables(embeddings->tables(), collisions->configs());
}

// Rows instead of ids; rows that changed hands are as new.
KeyedJaggedTensor Remapped(Context& ctx, ManagedCollisionCollection& collisions,
                           TableBatchedEmbedding& tables, const KeyedJaggedTensor& features) {
  KeyedJaggedTensor remapped = collisions.Forward(ctx, features);
  const std::vector<EvictedRows> evicted = collisions.Evict(ctx);
  for (int t = 0; t < tables.num_tables(); ++t)
    if (const Tensor& rows = evicted[static_cast<size_t>(t)].rows; rows.numel() > 0)
      tables.ResetRows(ctx, t, rows, TableBatchedEmbedding::ResetTo::kInitial);
  return remapped;
}

std::optional<KeyedJaggedTensor> If(bool wanted, KeyedJaggedTensor kjt) {
  return wanted ? std::optional(std::move(kjt)) : std::nullopt;
}

}  // namespace

ManagedCollisionEmbeddingBagCollection::ManagedCollisionEmbeddingBagCollection(
    std::unique_ptr<EmbeddingBagCollection> embedding_bag_collection,
    std::shared_ptr<ManagedCollisionCollection> managed_collision_collection,
    bool return_remapped_features)
    : embeddings_(std::move(embedding_bag_collection)),
      collisions_(std::move(managed_collision_collection)),
      return_remapped_features_(return_remapped_features) {
  CheckParts(embeddings_, collisions_);
}

ManagedCollisionEmbeddingBagCollection::Output ManagedCollisionEmbeddingBagCollection::Forward(
    Context& ctx, const KeyedJaggedTensor& features) {
  KeyedJaggedTensor remapped = Remapped(ctx, *collisions_, embeddings_->tables(), features);
  KeyedTensor pooled = embeddings_->Forward(ctx, remapped);
  return {std::move(pooled), If(return_remapped_features_, std::move(remapped))};
}

ManagedCollisionEmbeddingCollection::ManagedCollisionEmbeddingCollection(
    std::unique_ptr<EmbeddingCollection> embedding_collection,
    std::shared_ptr<ManagedCollisionCollection> managed_collision_collection,
    bool return_remapped_features)
    : embeddings_(std::move(embedding_collection)),
      collisions_(std::move(managed_collision_collection)),
      return_remapped_features_(return_remapped_features) {
  CheckParts(embeddings_, collisions_);
}

ManagedCollisionEmbeddingCollection::Output ManagedCollisionEmbeddingCollection::Forward(
    Context& ctx, const KeyedJaggedTensor& features) {
  KeyedJaggedTensor remapped = Remapped(ctx, *collisions_, embeddings_->tables(), features);
  auto rows = embeddings_->Forward(ctx, remapped);
  return {std::move(rows), If(return_remapped_features_, std::move(remapped))};
}

}  // namespace tessera
