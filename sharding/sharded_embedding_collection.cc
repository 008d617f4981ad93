#include "sharding/sharded_embedding_collection.h"

#include <utility>

#include "embedding/collection_features.h"

namespace tessera {

ShardedEmbeddingCollection::ShardedEmbeddingCollection(Context& ctx, Communicator& comm,
                                                       std::vector<EmbeddingConfig> configs,
                                                       const ShardingPlan& plan,
                                                       EmbeddingCollectionOptions options,
                                                       ShardingOptions sharding)
    : configs_(std::move(configs)), options_(options) {
  tables_ =
      std::make_unique<ShardedTables>(ctx, comm, internal::BasesOf(configs_),
                                      std::vector<PoolingType>(configs_.size(), PoolingType::kNone),
                                      internal::ListFeatures(configs_), plan,
                                      ShardedTablesOptions{.bounds_check = options.bounds_check,
                                                           .max_gradient = options.max_gradient,
                                                           .output_type = options.output_type,
                                                           .rounding_seed = options.rounding_seed,
                                                           .sharding = std::move(sharding)});
}

NamedSequences ShardedEmbeddingCollection::Forward(Context& ctx,
                                                   const KeyedJaggedTensor& features) {
  if (const auto answer = ahead_.Take(ctx, features, tables_->options().weighted))
    return answer(ctx);
  return ComputeAndOutputDist(ctx, StartInputDist(ctx, features)).Wait();
}

SequenceInput ShardedEmbeddingCollection::StartInputDist(Context& ctx,
                                                         const KeyedJaggedTensor& features) {
  return {features, tables_->StartInputDist(ctx, features)};
}

Awaitable<NamedSequences> ShardedEmbeddingCollection::ComputeAndOutputDist(Context& ctx,
                                                                           SequenceInput input) {
  const InputDist dist = input.dist.Wait();
  return ComputeAndOutputDist(ctx, input.features, dist);
}

Awaitable<NamedSequences> ShardedEmbeddingCollection::ComputeAndOutputDist(
    Context& ctx, const KeyedJaggedTensor& features, const InputDist& input) {
  return tables_->StartOutputDist(ctx, features, input)
      .Then([this, &ctx, features](std::vector<Variable> rows) {
        return internal::NamedRows(ctx, features, tables_->features(), rows, options_.need_indices);
      });
}

}  // namespace tessera
