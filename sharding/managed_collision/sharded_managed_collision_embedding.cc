#include "sharding/managed_collision/sharded_managed_collision_embedding.h"

#include <algorithm>
#include <utility>

#include "embedding/collection_features.h"

namespace tessera {
namespace {

template <typename Config>
ShardingOptions WithParts(ShardingOptions sharding, const std::vector<ShardedManagedTable>& managed,
                          const std::vector<Config>& configs) {
  sharding.num_parts = NumPartsOf(managed, internal::BasesOf(configs));
  return sharding;
}

std::unique_ptr<ShardedManagedCollisionModules> ModulesOf(
    Context& ctx, const std::vector<ShardedManagedTable>& managed, const ShardedTables& tables) {
  return std::make_unique<ShardedManagedCollisionModules>(ctx, managed, tables.tables(),
                                                          tables.layout(), tables.comm().rank());
}

// Rows instead of ids; rows that changed hands are as new.
void RemapAndReset(Context& ctx, ShardedManagedCollisionModules& modules, ShardedTables& tables,
                   InputDist& input) {
  modules.Remap(ctx, input);
  const std::vector<HeldShard> shards = tables.shards();
  modules.Evict(ctx, [&](const std::string& table, const Tensor& rows) {
    const auto held = std::find_if(shards.begin(), shards.end(),
                                   [&](const HeldShard& s) { return s.table == table; });
    held->tables->ResetRows(ctx, held->index, rows, TableBatchedEmbedding::ResetTo::kInitial);
  });
}

// The second phase of a forward.
template <typename Output, typename Collection, typename Input>
Awaitable<Output> Finish(Context& ctx, Collection& embeddings,
                         ShardedManagedCollisionModules& modules, Input input,
                         bool return_remapped_features) {
  ShardedTables& tables = embeddings.tables();
  InputDist dist = input.dist.Wait();
  RemapAndReset(ctx, modules, tables, dist);
  Awaitable<KeyedJaggedTensor> remapped;
  if (return_remapped_features)
    remapped = StartReturnRows(ctx, tables.comm(), tables.layout(), tables.features(), dist,
                               input.features);
  auto rows = embeddings.ComputeAndOutputDist(ctx, input.features, dist);
  return Awaitable<Output>([rows = std::move(rows), remapped = std::move(remapped)]() mutable {
    Output output{rows.Wait(), {}};
    if (remapped.valid()) output.remapped_features = remapped.Wait();
    return output;
  });
}

}  // namespace

ShardedManagedCollisionEmbeddingBagCollection::ShardedManagedCollisionEmbeddingBagCollection(
    Context& ctx, Communicator& comm, std::vector<EmbeddingBagConfig> configs,
    const std::vector<ShardedManagedTable>& managed, const ShardingPlan& plan,
    EmbeddingBagCollectionOptions options, ShardingOptions sharding, bool return_remapped_features)
    : return_remapped_features_(return_remapped_features) {
  sharding = WithParts(std::move(sharding), managed, configs);
  embeddings_ = std::make_unique<ShardedEmbeddingBagCollection>(
      ctx, comm, std::move(configs), plan, std::move(options), std::move(sharding));
  modules_ = ModulesOf(ctx, managed, embeddings_->tables());
}

ShardedManagedCollisionEmbeddingBagCollection::Output
ShardedManagedCollisionEmbeddingBagCollection::Forward(Context& ctx,
                                                       const KeyedJaggedTensor& features) {
  return ComputeAndOutputDist(ctx, StartInputDist(ctx, features)).Wait();
}

PooledInput ShardedManagedCollisionEmbeddingBagCollection::StartInputDist(
    Context& ctx, const KeyedJaggedTensor& features) {
  return embeddings_->StartInputDist(ctx, features);
}

Awaitable<ShardedManagedCollisionEmbeddingBagCollection::Output>
ShardedManagedCollisionEmbeddingBagCollection::ComputeAndOutputDist(Context& ctx,
                                                                    PooledInput input) {
  return Finish<Output>(ctx, *embeddings_, *modules_, std::move(input), return_remapped_features_);
}

ShardedManagedCollisionEmbeddingCollection::ShardedManagedCollisionEmbeddingCollection(
    Context& ctx, Communicator& comm, std::vector<EmbeddingConfig> configs,
    const std::vector<ShardedManagedTable>& managed, const ShardingPlan& plan,
    EmbeddingCollectionOptions options, ShardingOptions sharding, bool return_remapped_features)
    : return_remapped_features_(return_remapped_features) {
  sharding = WithParts(std::move(sharding), managed, configs);
  embeddings_ = std::make_unique<ShardedEmbeddingCollection>(ctx, comm, std::move(configs), plan,
                                                             options, std::move(sharding));
  modules_ = ModulesOf(ctx, managed, embeddings_->tables());
}

ShardedManagedCollisionEmbeddingCollection::Output
ShardedManagedCollisionEmbeddingCollection::Forward(Context& ctx,
                                                    const KeyedJaggedTensor& features) {
  return ComputeAndOutputDist(ctx, StartInputDist(ctx, features)).Wait();
}

SequenceInput ShardedManagedCollisionEmbeddingCollection::StartInputDist(
    Context& ctx, const KeyedJaggedTensor& features) {
  return embeddings_->StartInputDist(ctx, features);
}

Awaitable<ShardedManagedCollisionEmbeddingCollection::Output>
ShardedManagedCollisionEmbeddingCollection::ComputeAndOutputDist(Context& ctx,
                                                                 SequenceInput input) {
  return Finish<Output>(ctx, *embeddings_, *modules_, std::move(input), return_remapped_features_);
}

}  // namespace tessera
