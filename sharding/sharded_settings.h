#ifndef TESSERA_SHARDING_SHARDED_SETTINGS_H_
#define TESSERA_SHARDING_SHARDED_SETTINGS_H_
// Settings of ShardedTables that change its results, so that all ranks must have the same.
#include <string>
#include <vector>

#include "embedding/config/embedding_configs.h"
#include "sharding/sharded_tables.h"

namespace tessera::internal {

// A line each, for CheckSameOnAllRanks. Memory of rows and caches may differ between ranks, and an
// init_fn has no text.
std::string SettingsText(const std::vector<BaseEmbeddingConfig>& tables,
                         const std::vector<PoolingType>& poolings,
                         const std::vector<EmbeddingFeature>& features,
                         const ShardedTablesOptions& options);

}  // namespace tessera::internal
#endif  // TESSERA_SHARDING_SHARDED_SETTINGS_H_
