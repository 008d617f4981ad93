#ifndef TESSERA_TESTS_EMBEDDING_SMALL_TABLES_H_
#define TESSERA_TESTS_EMBEDDING_SMALL_TABLES_H_
// Configs of tables small enough to write their numbers down.
#include <string>
#include <utility>

#include "embedding/config/embedding_configs.h"
#include "embedding/table/row_init.h"

namespace tessera::testing {

inline BaseEmbeddingConfig SmallTable(const std::string& name, int64_t rows, int64_t dim,
                                      AnyRule rule = Sgd{1.0f}) {
  BaseEmbeddingConfig config;
  config.name = name;
  config.num_embeddings = rows;
  config.embedding_dim = dim;
  config.optimizer = std::move(rule);
  return config;
}

// Weights 0, 1, 2, … row-major.
inline BaseEmbeddingConfig Counting(BaseEmbeddingConfig config) {
  config.init_fn = RowsFrom([dim = config.embedding_dim](int64_t row, int64_t column) {
    return static_cast<float>(row * dim + column);
  });
  return config;
}

// All weights `value`.
inline BaseEmbeddingConfig Filled(BaseEmbeddingConfig config, float value) {
  config.init_fn = ConstantRows(value);
  return config;
}

}  // namespace tessera::testing
#endif  // TESSERA_TESTS_EMBEDDING_SMALL_TABLES_H_
