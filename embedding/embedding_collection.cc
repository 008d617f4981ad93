#include "embedding/embedding_collection.h"

#include "embedding/collection_features.h"

namespace tessera {

EmbeddingCollection::EmbeddingCollection(Context& ctx, std::vector<EmbeddingConfig> configs,
                                         EmbeddingCollectionOptions options)
    : configs_(std::move(configs)), options_(options) {
  tables_ = std::make_unique<TableBatchedEmbedding>(
      ctx, internal::BasesOf(configs_),
      std::vector<PoolingType>(configs_.size(), PoolingType::kNone),
      internal::ListFeatures(configs_),
      TableBatchedEmbeddingOptions{.bounds_check = options.bounds_check,
                                   .max_gradient = options.max_gradient,
                                   .output_type = options.output_type,
                                   .rounding_seed = options.rounding_seed});
}

NamedSequences EmbeddingCollection::Forward(Context& ctx, const KeyedJaggedTensor& features) {
  if (const auto answer = ahead_.Take(ctx, features, tables_->options().weighted))
    return answer(ctx);
  return internal::NamedRows(ctx, features, tables_->features(),
                             tables_->ForwardSequence(ctx, features), options_.need_indices);
}

}  // namespace tessera
