#include "sharding/managed_collision/sharded_managed_collision_embedding.h"

#include <algorithm>
#include <utility>

#include "embedding/collection_features.h"
#include "runtime/tensor.h"

namespace tessera {
namespace {

template <typename Config>
ShardingOptions WithParts(ShardingOptions sharding, const std::vector<ShardedManagedTable>& managed,
                          const std::vector<Config>& configs) {
  sharding.num_parts = CheckedNumParts(managed, internal::BasesOf(configs));
  return sharding;
}

// Replaces ids by rows, and initializes rows that changed hands.
void RemapAndReset(Context& ctx, ShardedManagedCollisionModules& modules, ShardedTables& tables,
                   InputDist& input) {
  if (ctx.tape() != nullptr) tables.CheckForwardIsStep("managed collision");
  modules.Remap(ctx, input);
  const std::vector<HeldShard> shards = tables.shards();
  modules.Evict(ctx, [&](const std::string& table, const Tensor& rows) {
    const auto held = std::find_if(shards.begin(), shards.end(),
                                   [&](const HeldShard& s) { return s.table == table; });
    held->tables->rows().Reset(ctx, held->index, rows, TableRows::ResetTo::kInitial);
  });
}

}  // namespace

namespace internal {

template <typename Collection, typename Input, typename Output>
ShardedManagedCollisionEmbeddings<Collection, Input, Output>::ShardedManagedCollisionEmbeddings(
    Context& ctx, std::unique_ptr<Collection> embeddings,
    const std::vector<ShardedManagedTable>& managed, bool return_remapped_features)
    : embeddings_(std::move(embeddings)), return_remapped_features_(return_remapped_features) {
  const ShardedTables& tables = embeddings_->tables();
  modules_ = std::make_unique<ShardedManagedCollisionModules>(
      ctx, managed, tables.tables(), tables.layout(), tables.comm().rank());
}

template <typename Collection, typename Input, typename Output>
Output ShardedManagedCollisionEmbeddings<Collection, Input, Output>::Forward(
    Context& ctx, const KeyedJaggedTensor& features) {
  const bool weighted = tables().options().weighted || return_remapped_features_;
  if (const auto answer = ahead_.Take(ctx, features, weighted)) return answer(ctx);
  return ComputeAndOutputDist(ctx, StartInputDist(ctx, features)).Wait();
}

template <typename Collection, typename Input, typename Output>
Input ShardedManagedCollisionEmbeddings<Collection, Input, Output>::StartInputDist(
    Context& ctx, const KeyedJaggedTensor& features) {
  return embeddings_->StartInputDist(ctx, features);
}

template <typename Collection, typename Input, typename Output>
Awaitable<Output>
ShardedManagedCollisionEmbeddings<Collection, Input, Output>::ComputeAndOutputDist(Context& ctx,
                                                                                   Input input) {
  return ComputeAndOutputDist(ctx, input.features, input.dist.Wait());
}

template <typename Collection, typename Input, typename Output>
Awaitable<Output>
ShardedManagedCollisionEmbeddings<Collection, Input, Output>::ComputeAndOutputDist(
    Context& ctx, const KeyedJaggedTensor& features, InputDist dist) {
  RemapAndReset(ctx, *modules_, tables(), dist);
  Awaitable<KeyedJaggedTensor> remapped;
  if (return_remapped_features_)
    remapped = StartReturnRows(ctx, tables().comm(), tables().layout(), tables().features(), dist,
                               features);
  auto rows = embeddings_->ComputeAndOutputDist(ctx, features, dist);
  return Awaitable<Output>([rows = std::move(rows), remapped = std::move(remapped)]() mutable {
    Output output{rows.Wait(), {}};
    if (remapped.valid()) output.remapped_features = remapped.Wait();
    return output;
  });
}

template class ShardedManagedCollisionEmbeddings<ShardedEmbeddingBagCollection, PooledInput,
                                                 ManagedCollisionEmbeddingBagCollection::Output>;
template class ShardedManagedCollisionEmbeddings<ShardedEmbeddingCollection, SequenceInput,
                                                 ManagedCollisionEmbeddingCollection::Output>;

}  // namespace internal

ShardedManagedCollisionEmbeddingBagCollection::ShardedManagedCollisionEmbeddingBagCollection(
    Context& ctx, Communicator& comm, const std::vector<EmbeddingBagConfig>& configs,
    const std::vector<ShardedManagedTable>& managed, const ShardingPlan& plan,
    EmbeddingBagCollectionOptions options, ShardingOptions sharding, bool return_remapped_features)
    : ShardedManagedCollisionEmbeddings(ctx,
                                        std::make_unique<ShardedEmbeddingBagCollection>(
                                            ctx, comm, configs, plan, std::move(options),
                                            WithParts(std::move(sharding), managed, configs)),
                                        managed, return_remapped_features) {}

ShardedManagedCollisionEmbeddingCollection::ShardedManagedCollisionEmbeddingCollection(
    Context& ctx, Communicator& comm, const std::vector<EmbeddingConfig>& configs,
    const std::vector<ShardedManagedTable>& managed, const ShardingPlan& plan,
    EmbeddingCollectionOptions options, ShardingOptions sharding, bool return_remapped_features)
    : ShardedManagedCollisionEmbeddings(
          ctx,
          std::make_unique<ShardedEmbeddingCollection>(
              ctx, comm, configs, plan, options, WithParts(std::move(sharding), managed, configs)),
          managed, return_remapped_features) {}

}  // namespace tessera
