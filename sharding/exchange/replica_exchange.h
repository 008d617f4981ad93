#ifndef TESSERA_SHARDING_EXCHANGE_REPLICA_EXCHANGE_H_
#define TESSERA_SHARDING_EXCHANGE_REPLICA_EXCHANGE_H_
// How tables that every rank holds alike (data_parallel) stay alike: before an update every rank
// gets every rank's ids and gradients of bags, and updates with all of them, in the order of the
// ranks. Rows that no id names are not looked at, and no gradient of a table's size is made.
#include <functional>
#include <vector>

#include "comm/communicator.h"
#include "embedding/config/embedding_configs.h"
#include "runtime/context.h"

namespace tessera {

// For internal::UpdateSharding::exchange_updates of `tables`, which `features` read.
std::function<UpdateBatch(Context&, UpdateBatch)> ExchangeWithReplicas(
    Communicator& comm, const std::vector<EmbeddingFeature>& features,
    const std::vector<BaseEmbeddingConfig>& tables);

}  // namespace tessera
#endif  // TESSERA_SHARDING_EXCHANGE_REPLICA_EXCHANGE_H_
