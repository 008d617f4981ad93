#include "embedding/managed_collision/managed_collision_embedding.h"

#include <map>

#include "runtime/tensor.h"

namespace tessera {
namespace {

// The number of the table of this name, -1 without one.
int TableOf(const TableBatchedEmbedding& tables, const std::string& name) {
  for (int t = 0; t < tables.num_tables(); ++t)
    if (tables.table(t).name == name) return t;
  return -1;
}

// Tables without a module take row numbers.
void CheckTables(const TableBatchedEmbedding& tables,
                 const std::vector<BaseEmbeddingConfig>& configs) {
  for (const BaseEmbeddingConfig& config : configs) {
    const int t = TableOf(tables, config.name);
    TESSERA_CHECK(t >= 0, "managed collision: {} is none of the tables of the embeddings",
                  config.name);
    const BaseEmbeddingConfig& table = tables.table(t);
    TESSERA_CHECK_EQ(table.num_embeddings, config.num_embeddings,
                     "managed collision: rows of table {}", table.name);
    TESSERA_CHECK(table.feature_names == config.feature_names,
                  "managed collision: table {} has other features than its module", table.name);
    TESSERA_CHECK(table.index_remap == nullptr,
                  "managed collision: table {} is pruned: its ids have been remapped", table.name);
  }
}

// Throws if a key with a module feeds another table too: that table would read the first one's
// rows.
void CheckOtherTables(const TableBatchedEmbedding& tables,
                      const std::vector<BaseEmbeddingConfig>& configs) {
  std::map<std::string, std::string> managed;
  for (const BaseEmbeddingConfig& config : configs)
    for (const std::string& feature : config.feature_names) managed.emplace(feature, config.name);
  for (int t = 0; t < tables.num_tables(); ++t)
    for (const std::string& feature : tables.table(t).feature_names) {
      const auto found = managed.find(feature);
      TESSERA_CHECK(found == managed.end() || found->second == tables.table(t).name,
                    "managed collision: feature {} is read by table {}, whose module turns its ids "
                    "into rows, and by table {}: its ids can become the rows of one only",
                    feature, found->second, tables.table(t).name);
    }
}

template <typename Collection>
void CheckParts(const std::unique_ptr<Collection>& embeddings,
                const std::shared_ptr<ManagedCollisionCollection>& collisions) {
  TESSERA_CHECK(embeddings != nullptr && collisions != nullptr,
                "managed collision: embeddings and a collection of modules are needed");
  CheckTables(embeddings->tables(), collisions->configs());
  CheckOtherTables(embeddings->tables(), collisions->configs());
}

// Replaces ids by rows, and initializes rows that came into use or changed hands.
KeyedJaggedTensor Remapped(Context& ctx, ManagedCollisionCollection& collisions,
                           TableBatchedEmbedding& tables, const KeyedJaggedTensor& features) {
  if (ctx.tape() != nullptr) tables.CheckForwardIsStep("managed collision");
  KeyedJaggedTensor remapped = collisions.Forward(ctx, features);
  for (const BaseEmbeddingConfig& table : collisions.configs()) {
    const int t = TableOf(tables, table.name);
    ManagedCollisionModule& module = collisions.module(table.name);
    if (module.StartRows(
            [&](const RowsToStart& rows) { return tables.rows().StartRows(ctx, t, rows); }))
      continue;
    if (tables.table(t).growing) tables.rows().SetInUse(ctx, t, module.rows_in_use());
    module.EvictTo(ctx, [&](const Tensor& rows) {
      tables.rows().Reset(ctx, t, rows, TableRows::ResetTo::kInitial);
    });
  }
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
