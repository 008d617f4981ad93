#ifndef TESSERA_SHARDING_SHARDED_EMBEDDING_COLLECTION_H_
#define TESSERA_SHARDING_SHARDED_EMBEDDING_COLLECTION_H_
// An EmbeddingCollection whose tables lie on several ranks: every rank gives its own ids and gets
// their rows. sharding/sharded_tables.h says what a step of all ranks is.
#include <memory>
#include <string>
#include <vector>

#include "embedding/embedding_collection.h"
#include "runtime/context.h"
#include "sharding/sharded_tables.h"

namespace tessera {

// A forward under way: its ids have left.
struct SequenceInput {
  KeyedJaggedTensor features;
  Awaitable<InputDist> dist;
};

class ShardedEmbeddingCollection {
 public:
  // Takes what EmbeddingCollection takes; see ShardedTables for what must be the same on all ranks.
  // Unlike TorchRec's, tables may have different dims.
  ShardedEmbeddingCollection(Context& ctx, Communicator& comm, std::vector<EmbeddingConfig> configs,
                             const ShardingPlan& plan, EmbeddingCollectionOptions options = {},
                             ShardingOptions sharding = {});

  // Like EmbeddingCollection::Forward: rows in the order of this rank's own ids.
  NamedSequences Forward(Context& ctx, const KeyedJaggedTensor& features);
  // The result of the next forward, where it was begun before the model comes to it
  // (precomputed_forward.h): a pipeline sets it, and Forward takes it.
  PrecomputedForward<NamedSequences>& ahead() { return ahead_; }

  // Forward in phases, like ShardedEmbeddingBagCollection's.
  SequenceInput StartInputDist(Context& ctx, const KeyedJaggedTensor& features);
  Awaitable<NamedSequences> ComputeAndOutputDist(Context& ctx, SequenceInput input);
  Awaitable<NamedSequences> ComputeAndOutputDist(Context& ctx, const KeyedJaggedTensor& features,
                                                 const InputDist& input);

  const std::vector<EmbeddingConfig>& configs() const { return configs_; }
  ShardedTables& tables() { return *tables_; }
  const ShardedTables& tables() const { return *tables_; }

 private:
  std::vector<EmbeddingConfig> configs_;
  EmbeddingCollectionOptions options_;
  std::unique_ptr<ShardedTables> tables_;
  PrecomputedForward<NamedSequences> ahead_;
};

}  // namespace tessera
#endif  // TESSERA_SHARDING_SHARDED_EMBEDDING_COLLECTION_H_
