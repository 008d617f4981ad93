#ifndef TESSERA_EMBEDDING_COLLECTION_FEATURES_H_
#define TESSERA_EMBEDDING_COLLECTION_FEATURES_H_
// The features of a TableBatchedEmbedding, as the configs of a collection name them.
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "embedding/table_batched_embedding.h"
#include "runtime/base/check.h"
#include "runtime/context.h"

namespace tessera::internal {

// Throws Error for two outputs of one name. Tables of one name are for others to refuse.
template <typename Config>
void CheckOutputNames(const std::vector<EmbeddingFeature>& features,
                      const std::vector<Config>& configs) {
  std::map<std::string, const EmbeddingFeature*> named;
  const auto table = [&](const EmbeddingFeature& f) {
    return configs[static_cast<size_t>(f.table)].name;
  };
  for (const EmbeddingFeature& f : features) {
    const auto [other, added] = named.emplace(f.name, &f);
    if (added) continue;
    const EmbeddingFeature& first = *other->second;
    if (first.table == f.table)
      throw Error(Format("table {}: expected each feature once, got {} twice", table(f), f.key));
    if (table(first) == table(f)) continue;
    throw Error(
        Format("expected outputs of different names, but feature {} of table {} and feature {} of "
               "table {} both give {}: rename a table or a feature",
               first.key, table(first), f.key, table(f), f.name));
  }
}

// In table order, then feature order in the table; "feature@table" for a feature that several
// tables read. Throws Error where two would have one name, or a table lists a feature twice.
template <typename Config>
std::vector<EmbeddingFeature> ListFeatures(const std::vector<Config>& configs) {
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
  CheckOutputNames(features, configs);
  return features;
}

// The rows of each feature under the lengths of its key; its ids as weights, if asked for.
inline std::vector<std::pair<std::string, JaggedTensor>> NamedRows(
    Context& ctx, const KeyedJaggedTensor& kjt, const std::vector<EmbeddingFeature>& features,
    const std::vector<Variable>& rows, bool need_indices) {
  std::vector<std::pair<std::string, JaggedTensor>> result;
  for (size_t f = 0; f < rows.size(); ++f) {
    const JaggedTensor ids = kjt.At(ctx, features[f].key);
    Variable indices;
    if (need_indices) indices = ids.values().value().To(ctx, DType::kF32);
    result.emplace_back(features[f].name, JaggedTensor(rows[f], ids.lengths(ctx), {}, indices));
  }
  return result;
}

template <typename Config>
std::vector<BaseEmbeddingConfig> BasesOf(const std::vector<Config>& configs) {
  return {configs.begin(), configs.end()};
}

}  // namespace tessera::internal
#endif  // TESSERA_EMBEDDING_COLLECTION_FEATURES_H_
