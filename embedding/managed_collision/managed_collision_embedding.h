#ifndef TESSERA_EMBEDDING_MANAGED_COLLISION_MANAGED_COLLISION_EMBEDDING_H_
#define TESSERA_EMBEDDING_MANAGED_COLLISION_MANAGED_COLLISION_EMBEDDING_H_
// Managed collision in front of pooled and of sequence tables (TorchRec's classes of these names).
//
//   raw ids -> rows (managed_collision_collection.h) -> evicted rows start anew -> lookup
//
// An evicted row gets what new rows of its table start with, and its optimizer state 0, before
// anybody reads it. (TorchRec leaves this to the user.) Rows that an id without a row of its own
// reads are shared as the modules say. In a table with `growing` rows come into use with the first
// ids that are given them (growing_managed_collision_module.h). Of a table with the rule Dense the
// row is reset, but not what the user's own optimizer remembers.
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "embedding/embedding_bag_collection.h"
#include "embedding/embedding_collection.h"
#include "embedding/managed_collision/managed_collision_collection.h"
#include "runtime/context.h"

namespace tessera {

class ManagedCollisionEmbeddingBagCollection {
 public:
  struct Output {
    KeyedTensor embeddings;
    std::optional<KeyedJaggedTensor> remapped_features;  // if asked for
  };

  // Throws Error unless the modules' tables are among those of the embeddings, of the same sizes
  // and features. Tables without a module read row numbers.
  ManagedCollisionEmbeddingBagCollection(
      std::unique_ptr<EmbeddingBagCollection> embedding_bag_collection,
      std::shared_ptr<ManagedCollisionCollection> managed_collision_collection,
      bool return_remapped_features = false);

  // Like EmbeddingBagCollection::Forward. Each training forward needs its backward before the next
  // training forward.
  Output Forward(Context& ctx, const KeyedJaggedTensor& features);

  EmbeddingBagCollection& embedding_bag_collection() { return *embeddings_; }
  const EmbeddingBagCollection& embedding_bag_collection() const { return *embeddings_; }
  ManagedCollisionCollection& managed_collision_collection() { return *collisions_; }

 private:
  std::unique_ptr<EmbeddingBagCollection> embeddings_;
  std::shared_ptr<ManagedCollisionCollection> collisions_;
  bool return_remapped_features_;
};

class ManagedCollisionEmbeddingCollection {
 public:
  struct Output {
    std::vector<std::pair<std::string, JaggedTensor>> embeddings;
    std::optional<KeyedJaggedTensor> remapped_features;
  };

  ManagedCollisionEmbeddingCollection(
      std::unique_ptr<EmbeddingCollection> embedding_collection,
      std::shared_ptr<ManagedCollisionCollection> managed_collision_collection,
      bool return_remapped_features = false);

  // Like EmbeddingCollection::Forward.
  Output Forward(Context& ctx, const KeyedJaggedTensor& features);

  EmbeddingCollection& embedding_collection() { return *embeddings_; }
  ManagedCollisionCollection& managed_collision_collection() { return *collisions_; }

 private:
  std::unique_ptr<EmbeddingCollection> embeddings_;
  std::shared_ptr<ManagedCollisionCollection> collisions_;
  bool return_remapped_features_;
};

}  // namespace tessera
#endif  // TESSERA_EMBEDDING_MANAGED_COLLISION_MANAGED_COLLISION_EMBEDDING_H_
