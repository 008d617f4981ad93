#ifndef TESSERA_TESTS_EMBEDDING_SMALL_STEPS_H_
#define TESSERA_TESTS_EMBEDDING_SMALL_STEPS_H_
// Training steps of a collection of four tables, for tests of what memory they take.
#include <string>
#include <vector>

#include "embedding/embedding_bag_collection.h"

namespace tessera::testing {

inline std::vector<EmbeddingBagConfig> Configs(int64_t rows, int64_t dim, const AnyRule& rule) {
  std::vector<EmbeddingBagConfig> configs;
  for (int t = 0; t < 4; ++t) {
    EmbeddingBagConfig config;
    config.name = "t" + std::to_string(t);
    config.num_embeddings = rows;
    config.embedding_dim = dim;
    config.feature_names = {"f" + std::to_string(t)};
    config.optimizer = rule;
    configs.push_back(config);
  }
  return configs;
}

// Bags of `length` ids for each of the four features.
inline KeyedJaggedTensor Bags(Context& ctx, int64_t batch, int64_t length, int64_t rows) {
  std::vector<int64_t> ids;
  for (int64_t i = 0; i < 4 * batch * length; ++i) ids.push_back(i * 7919 % rows);
  return KeyedJaggedTensor::FromLengthsSync(
      {"f0", "f1", "f2", "f3"}, Tensor::From(ctx, ids),
      Tensor::From(ctx, std::vector<int64_t>(static_cast<size_t>(4 * batch), length)));
}

inline void Step(Context& ctx, EmbeddingBagCollection& tables, const KeyedJaggedTensor& bags) {
  Tape tape(ctx);
  const KeyedTensor out = tables.Forward(ctx, bags);
  tape.Backward(out.values(), Tensor::Full(ctx, out.values().shape(), 1e-3));
}

}  // namespace tessera::testing
#endif  // TESSERA_TESTS_EMBEDDING_SMALL_STEPS_H_
