#ifndef TESSERA_SHARDING_MANAGED_COLLISION_SHARDED_MANAGED_COLLISION_COLLECTION_H_
#define TESSERA_SHARDING_MANAGED_COLLISION_SHARDED_MANAGED_COLLISION_COLLECTION_H_
// A ManagedCollisionCollection whose modules lie on several ranks, for embeddings of somebody else:
// every rank gives its own raw ids and gets rows of whole tables for them.
//
// sharded_managed_collision_embedding.h needs one exchange less: there ids become rows on their way
// to the tables.
#include <memory>
#include <vector>

#include "comm/communicator.h"
#include "runtime/context.h"
#include "sharding/managed_collision/sharded_managed_collision_modules.h"

namespace tessera {

class ShardedManagedCollisionCollection {
 public:
  // All of `configs` are managed. REQUIRES: the same arguments and the same ctx.random() on all
  // ranks. Throws Error as ShardedManagedCollisionEmbeddingBagCollection's.
  ShardedManagedCollisionCollection(Context& ctx, Communicator& comm,
                                    const std::vector<ShardedManagedTable>& managed,
                                    std::vector<BaseEmbeddingConfig> configs,
                                    const ShardingPlan& plan);

  // Like ManagedCollisionCollection::Forward. Every rank calls. modules().Evict returns the rows of
  // this rank's shards that must be reset.
  KeyedJaggedTensor Forward(Context& ctx, const KeyedJaggedTensor& features);

  ShardedManagedCollisionModules& modules() { return *modules_; }

 private:
  Communicator& comm_;
  std::vector<BaseEmbeddingConfig> configs_;
  std::vector<EmbeddingFeature> features_;
  std::shared_ptr<const DistLayout> layout_;
  std::unique_ptr<ShardedManagedCollisionModules> modules_;
};

}  // namespace tessera
#endif  // TESSERA_SHARDING_MANAGED_COLLISION_SHARDED_MANAGED_COLLISION_COLLECTION_H_
