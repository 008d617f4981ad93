#ifndef TESSERA_SHARDING_MANAGED_COLLISION_SHARDED_MANAGED_COLLISION_EMBEDDING_H_
#define TESSERA_SHARDING_MANAGED_COLLISION_SHARDED_MANAGED_COLLISION_EMBEDDING_H_
// Managed collision in front of sharded pooled and sequence tables (TorchRec's classes of these
// names): every rank gives its own raw ids and gets their embeddings.
//
//   sharded_managed_collision_modules.h   ids travel once, by part of their table, and become rows
//                                         on the rank that has these rows
//   sharding/sharded_tables.h             all else
//
// A step of R ranks is a step of one process with the same parts on all their batches: modules and
// rows have the same bits for any R where the gradients have; outputs do, but for bags whose ids
// lie on several ranks, which add partial sums. Three things depend on R: gradient_division;
// dedup_ids, under which a module counts an id once a batch and rank, or node; and times in hours
// (HashZchClock::kHours), as on one rank.
//
// An evicted row gets what new rows of its table start with, and its optimizer state 0, on its
// rank, before anybody reads it.
#include <memory>
#include <vector>

#include "embedding/managed_collision/managed_collision_embedding.h"
#include "embedding/precomputed_forward.h"
#include "runtime/context.h"
#include "sharding/managed_collision/sharded_managed_collision_modules.h"
#include "sharding/sharded_embedding_bag_collection.h"
#include "sharding/sharded_embedding_collection.h"

namespace tessera {

namespace internal {

// The part that the two classes below share. Collection: the sharded tables that it stands in front
// of.
template <typename Collection, typename Input, typename OutputOf>
class ShardedManagedCollisionEmbeddings {
 public:
  using Output = OutputOf;

  // Like Collection::Forward. Each training forward needs its backward before the next training
  // forward.
  Output Forward(Context& ctx, const KeyedJaggedTensor& features);
  // The result of the next forward, where it was begun before the model comes to it
  // (precomputed_forward.h): a pipeline sets it, and Forward takes it.
  PrecomputedForward<Output>& ahead() { return ahead_; }

  // Forward in phases. Raw ids of later batches may be on their way while one is trained; modules
  // see batches in the order of the second phases.
  Input StartInputDist(Context& ctx, const KeyedJaggedTensor& features);
  Awaitable<Output> ComputeAndOutputDist(Context& ctx, Input input);
  // Takes an input_dist that was waited for, maybe by another thread
  // (ShardedTables::StartInputDist).
  Awaitable<Output> ComputeAndOutputDist(Context& ctx, const KeyedJaggedTensor& features,
                                         InputDist input);

  // The collection's tables, and the modules in front of them.
  ShardedTables& tables() { return embeddings_->tables(); }
  ShardedManagedCollisionModules& modules() { return *modules_; }

 protected:
  ShardedManagedCollisionEmbeddings(Context& ctx, std::unique_ptr<Collection> embeddings,
                                    const std::vector<ShardedManagedTable>& managed,
                                    bool return_remapped_features);

  std::unique_ptr<Collection> embeddings_;

 private:
  std::unique_ptr<ShardedManagedCollisionModules> modules_;
  bool return_remapped_features_;
  PrecomputedForward<Output> ahead_;
};

}  // namespace internal

class ShardedManagedCollisionEmbeddingBagCollection
    : public internal::ShardedManagedCollisionEmbeddings<
          ShardedEmbeddingBagCollection, PooledInput,
          ManagedCollisionEmbeddingBagCollection::Output> {
 public:
  // Takes what ShardedEmbeddingBagCollection takes; tables that are not managed read row numbers.
  // Throws Error for a managed table that is not row_wise, table_row_wise or table_wise with whole
  // parts a rank (RowWiseBuckets of plan_makers.h makes such plans), and for what CheckedNumParts
  // refuses. num_parts of `sharding` follow from `managed`. remapped_features are rows of whole
  // tables.
  ShardedManagedCollisionEmbeddingBagCollection(Context& ctx, Communicator& comm,
                                                const std::vector<EmbeddingBagConfig>& configs,
                                                const std::vector<ShardedManagedTable>& managed,
                                                const ShardingPlan& plan,
                                                EmbeddingBagCollectionOptions options = {},
                                                ShardingOptions sharding = {},
                                                bool return_remapped_features = false);

  ShardedEmbeddingBagCollection& embedding_bag_collection() { return *embeddings_; }
};

class ShardedManagedCollisionEmbeddingCollection
    : public internal::ShardedManagedCollisionEmbeddings<
          ShardedEmbeddingCollection, SequenceInput, ManagedCollisionEmbeddingCollection::Output> {
 public:
  // Takes what the constructor above takes.
  ShardedManagedCollisionEmbeddingCollection(Context& ctx, Communicator& comm,
                                             const std::vector<EmbeddingConfig>& configs,
                                             const std::vector<ShardedManagedTable>& managed,
                                             const ShardingPlan& plan,
                                             EmbeddingCollectionOptions options = {},
                                             ShardingOptions sharding = {},
                                             bool return_remapped_features = false);

  ShardedEmbeddingCollection& embedding_collection() { return *embeddings_; }
};

}  // namespace tessera
#endif  // TESSERA_SHARDING_MANAGED_COLLISION_SHARDED_MANAGED_COLLISION_EMBEDDING_H_
