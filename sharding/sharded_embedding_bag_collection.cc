#include "sharding/sharded_embedding_bag_collection.h"

#include <utility>

#include "embedding/collection_features.h"
#include "runtime/base/check.h"
#include "runtime/files/trace.h"

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
                  "table {}: pooling NONE needs a ShardedEmbeddingCollection", config.name);
    poolings.push_back(config.pooling);
  }
  std::vector<EmbeddingFeature> features = internal::ListFeatures(configs_);
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
  if (const auto answer = ahead_.Take(ctx, features, tables_->options().weighted))
    return answer(ctx);
  return ComputeAndOutputDist(ctx, StartInputDist(ctx, features)).Wait();
}

PooledInput ShardedEmbeddingBagCollection::StartInputDist(Context& ctx,
                                                          const KeyedJaggedTensor& features) {
  const TraceSpan span("input_dist");
  return {features, tables_->StartInputDist(ctx, features)};
}

Awaitable<KeyedTensor> ShardedEmbeddingBagCollection::ComputeAndOutputDist(Context& ctx,
                                                                           PooledInput input) {
  const InputDist dist = [&] {
    const TraceSpan span("input_dist");
    return input.dist.Wait();
  }();
  return ComputeAndOutputDist(ctx, input.features, dist);
}

Awaitable<KeyedTensor> ShardedEmbeddingBagCollection::ComputeAndOutputDist(
    Context& ctx, const KeyedJaggedTensor& features, const InputDist& input) {
  auto rows = tables_->StartOutputDist(ctx, features, input)
                  .Then([names = embedding_names_, dims = dims_](std::vector<Variable> outputs) {
                    return KeyedTensor(names, dims, std::move(outputs[0]));
                  });
  return Awaitable<KeyedTensor>([rows = std::move(rows)]() mutable {
    const TraceSpan span("output_dist");
    return rows.Wait();
  });
}

}  // namespace tessera
