#include "embedding/embedding_bag_collection.h"

#include <utility>

#include "embedding/collection_features.h"

namespace tessera {

EmbeddingBagCollection::EmbeddingBagCollection(Context& ctx,
                                               std::vector<EmbeddingBagConfig> configs,
                                               EmbeddingBagCollectionOptions options)
    : configs_(std::move(configs)) {
  std::vector<PoolingType> poolings;
  for (const EmbeddingBagConfig& config : configs_) {
    TESSERA_CHECK(config.pooling != PoolingType::kNone,
                  "table {}: pooling NONE needs an EmbeddingCollection", config.name);
    poolings.push_back(config.pooling);
  }
  std::vector<EmbeddingFeature> features = internal::ListFeatures(configs_);
  for (const EmbeddingFeature& f : features) {
    embedding_names_.push_back(f.name);
    dims_.push_back(configs_[static_cast<size_t>(f.table)].embedding_dim);
  }
  tables_ = std::make_unique<TableBatchedEmbedding>(
      ctx, internal::BasesOf(configs_), std::move(poolings), std::move(features),
      TableBatchedEmbeddingOptions{.weighted = options.is_weighted,
                                   .bounds_check = options.bounds_check,
                                   .max_gradient = options.max_gradient,
                                   .feature_requires_grad = options.feature_requires_grad,
                                   .output_type = options.output_type,
                                   .rounding_seed = options.rounding_seed});
}

KeyedTensor EmbeddingBagCollection::Forward(Context& ctx, const KeyedJaggedTensor& features) {
  if (const auto answer = ahead_.Take(ctx, features, tables_->options().weighted))
    return answer(ctx);
  TESSERA_CHECK(
      !features.variable_stride_per_key() || features.inverse_indices_or_none() != nullptr,
      "a KeyedJaggedTensor with a batch of its own for each key needs inverse indices to become a "
      "KeyedTensor; without them, tables().Forward gives the flat rows");
  return KeyedTensor(embedding_names_, dims_, tables_->Forward(ctx, features));
}

}  // namespace tessera
