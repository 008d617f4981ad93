#include "embedding/embedding_collection.h"

#include "embedding/collection_features.h"

namespace tessera {

EmbeddingCollection::EmbeddingCollection(Context& ctx, std::vector<EmbeddingConfig> configs,
                                         EmbeddingCollectionOptions options)
    : configs_(std::move(configs)), options_(options) {
  tables_ = std::make_unique<TableBatchedEmbedding>(
      ctx, internal::BasesOf(configs_),
      std::vector<PoolingType>(configs_.size(), PoolingType::kNone), internal::FeaturesOf(configs_),
      TableBatchedEmbeddingOptions{.bounds_check = options.bounds_check,
                                   .max_gradient = options.max_gradient,
                                   .output_type = options.output_type,
                                   .rounding_seed = options.rounding_seed});
}

std::vector<std::pair<std::string, JaggedTensor>> EmbeddingCollection::Forward(
    Context& ctx, const KeyedJaggedTensor& features) {
  const std::vector<Variable> rows = tables_->ForwardSequence(ctx, features);
  std::vector<std::pair<std::string, JaggedTensor>> result;
  for (size_t f = 0; f < rows.size(); ++f) {
    const EmbeddingFeature& feature = tables_->features()[f];
    const JaggedTensor ids = features.At(ctx, feature.key);
    Variable indices;
    if (options_.need_indices) indices = ids.values().value().To(ctx, DType::kF32);
    result.emplace_back(feature.name, JaggedTensor(rows[f], ids.lengths(ctx), {}, indices));
  }
  return result;
}

}  // namespace tessera
