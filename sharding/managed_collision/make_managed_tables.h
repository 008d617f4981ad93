#ifndef TESSERA_SHARDING_MANAGED_COLLISION_MAKE_MANAGED_TABLES_H_
#define TESSERA_SHARDING_MANAGED_COLLISION_MAKE_MANAGED_TABLES_H_
// Makes what a ManagedTableConfig describes: on one rank, and over ranks.
#include <memory>

#include "embedding/managed_collision/managed_collision_config.h"
#include "runtime/context.h"
#include "sharding/managed_collision/sharded_managed_collision_modules.h"

namespace tessera {

// Makes the module of a whole table. Throws Error for options that the module refuses, and for
// parts that do not divide the rows, or have fewer than 2.
std::shared_ptr<ManagedCollisionModule> MakeManagedCollisionModule(
    Context& ctx, const ManagedTableConfig& config, const BaseEmbeddingConfig& table);

// Makes a table over ranks. Throws Error for one that is not in parts.
ShardedManagedTable ShardedManagedTableOf(const ManagedTableConfig& config,
                                          const BaseEmbeddingConfig& table);

}  // namespace tessera
#endif  // TESSERA_SHARDING_MANAGED_COLLISION_MAKE_MANAGED_TABLES_H_
