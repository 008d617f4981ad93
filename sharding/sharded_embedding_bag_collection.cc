#include "sharding/sharded_embedding_bag_collection.h"

#include <utility>

#include "embedding/collection_features.h"

namespace tessera {

ShardedEmbeddingBagCollection::ShardedEmbeddingBagCollection(
    Context& ctx, Communicator& comm, std::vector<EmbeddingBagConfig> configs,
    const ShardingPlan& plan, EmbeddingBagCollectionOptions options, ShardingOptions sharding)
    : configs_(std::move(configs)) {
  TESSERA_CHECK(options.feature_requires_grad.empty(),
                "feature_requires_grad has {} entries; a sharded collection takes none",
                options.feature_requires_grad.size());
  std::vector<PoolingType> poolings;
  for (const EmbeddingBagConfig& config : configs_) {
    TESSERA_CHECK(config.pooling != PoolingType::kNone,
                  "table {}: pooling NONE belongs into a ShardedEmbeddingCollection", config.name);
    poolings.push_back(config.pooling);
  }
  std::vector<EmbeddingFeature> features = internal::FeaturesOf(configs_);
  for (const EmbeddingFeature& f : features) {
    embedding_names_.push_back(f.name);
    dims_.push_back(configs_[static_cast<size_t>(f.table)].embedding_dim);
  }
  tables_ = std::make_unique<ShardedTables>(
      ctx, comm, internal::BasesOf(configs_), std::move(poolings), std::move(features), plan,
      ShardedTablesOptions{.weighted = options.is_weighted,
                           .bounds_check = options.bounds_check,
                           .max_gradient = options.max_gradient,
                           .output_type = options.output_type,
                           .rounding_seed = options.rounding_seed,
                           .sharding = std::move(sharding)});
}

KeyedTensor ShardedEmbeddingBagCollection::Forward(Context& ctx,
                                                   const KeyedJaggedTensor& features) {
  return ComputeAndOutputDist(ctx, StartInputDist(ctx, features)).Wait();
}

PooledInput ShardedEmbeddingBagCollection::StartInputDist(Context& ctx,
                                                          const KeyedJaggedTensor& features) {
  return {features, tables_->StartInputDist(ctx, features)};
}

Awaitable<KeyedTensor> ShardedEmbeddingBagCollection::ComputeAndOutputDist(Context& ctx,
                                                                           PooledInput input) {
  const InputDist dist = input.dist.Wait();
  return tables_->StartOutputDist(ctx, input.features, dist)
      .Then([names = embedding_names_, dims = dims_](std::vector<Variable> outputs) {
        return KeyedTensor(names, dims, std::move(outputs[0]));
      });
}

}  // namespace tessera
