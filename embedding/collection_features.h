#ifndef TESSERA_EMBEDDING_COLLECTION_FEATURES_H_
#define TESSERA_EMBEDDING_COLLECTION_FEATURES_H_
// Private to the collections: how configs name the features of a TableBatchedEmbedding.
#include <map>
#include <string>
#include <vector>

#include "embedding/table_batched_embedding.h"

namespace tessera::internal {

// In table order, then feature order in the table; "feature@table" for a feature that several
// tables read.
template <typename Config>
std::vector<EmbeddingFeature> FeaturesOf(const std::vector<Config>& configs) {
  std::map<std::string, int> readers;
  for (const Config& config : configs) {
    TESSERA_CHECK(!config.feature_names.empty(), "table {}: no feature reads it", config.name);
    for (const std::string& feature : config.feature_names) ++readers[feature];
  }
  std::vector<EmbeddingFeature> features;
  for (size_t t = 0; t < configs.size(); ++t)
    for (const std::string& feature : configs[t].feature_names)
      features.push_back({readers[feature] > 1 ? feature + "@" + configs[t].name : feature,
                          static_cast<int>(t), feature});
  return features;
}

template <typename Config>
std::vector<BaseEmbeddingConfig> BasesOf(const std::vector<Config>& configs) {
  return {configs.begin(), configs.end()};
}

}  // namespace tessera::internal
#endif  // TESSERA_EMBEDDING_COLLECTION_FEATURES_H_
