#ifndef TESSERA_SHARDING_SHARDED_EMBEDDING_BAG_COLLECTION_H_
#define TESSERA_SHARDING_SHARDED_EMBEDDING_BAG_COLLECTION_H_
// An EmbeddingBagCollection whose tables lie on several ranks: every rank gives its own batch and
// gets its own KeyedTensor. sharding/sharded_tables.h says what a step of all ranks is.
#include <memory>
#include <string>
#include <vector>

#include "embedding/embedding_bag_collection.h"
#include "runtime/context.h"
#include "sharding/sharded_tables.h"

namespace tessera {

// A forward under way: its ids have left.
struct PooledInput {
  KeyedJaggedTensor features;
  Awaitable<InputDist> dist;
};

class ShardedEmbeddingBagCollection {
 public:
  // Takes what EmbeddingBagCollection takes; see ShardedTables for what must be the same on all
  // ranks. Throws Error for feature_requires_grad, which only unsharded collections know.
  ShardedEmbeddingBagCollection(Context& ctx, Communicator& comm,
                                std::vector<EmbeddingBagConfig> configs, const ShardingPlan& plan,
                                EmbeddingBagCollectionOptions options = {},
                                ShardingOptions sharding = {});

  // Columns in table order, then feature order in the table, as without shards. With inverse
  // indices B is the whole batch, and distinct bags alone travel.
  KeyedTensor Forward(Context& ctx, const KeyedJaggedTensor& features);
  // The result of the next forward, where it was begun before the model comes to it
  // (precomputed_forward.h): a pipeline sets it, and Forward takes it.
  PrecomputedForward<KeyedTensor>& ahead() { return ahead_; }

  // Forward in phases, between which other work can be done. All ranks make the same calls in the
  // same order.
  PooledInput StartInputDist(Context& ctx, const KeyedJaggedTensor& features);
  Awaitable<KeyedTensor> ComputeAndOutputDist(Context& ctx, PooledInput input);
  // Takes an input_dist that was waited for, maybe by another thread
  // (ShardedTables::StartInputDist).
  Awaitable<KeyedTensor> ComputeAndOutputDist(Context& ctx, const KeyedJaggedTensor& features,
                                              const InputDist& input);

  const std::vector<EmbeddingBagConfig>& configs() const { return configs_; }
  const std::vector<std::string>& embedding_names() const { return embedding_names_; }
  ShardedTables& tables() { return *tables_; }
  const ShardedTables& tables() const { return *tables_; }

 private:
  std::vector<EmbeddingBagConfig> configs_;
  std::vector<std::string> embedding_names_;
  std::vector<int64_t> dims_;
  std::unique_ptr<ShardedTables> tables_;
  PrecomputedForward<KeyedTensor> ahead_;
};

}  // namespace tessera
#endif  // TESSERA_SHARDING_SHARDED_EMBEDDING_BAG_COLLECTION_H_
