#include "bench/train/criteo_dlrm.h"

#include "optim/rules/rowwise_adagrad.h"
#include "runtime/base/check.h"

namespace tessera::bench {

TrainConfig CriteoDlrm(int64_t dim, const std::vector<int64_t>& rows) {
  TrainConfig config;
  config.model = {
      .dense_in = ClickRow::kIntegers, .dense_arch = {512, 256, dim}, .over_arch = {512, 256, 1}};
  config.sparse_optimizer = RowwiseAdagrad{.lr = 0.02f};
  config.dense_optimizer = DenseOptimizerConfig("adagrad");
  for (const int64_t table_rows : rows) {
    EmbeddingBagConfig table;
    table.name = Format("t{}", config.tables.size());
    table.num_embeddings = table_rows;
    table.embedding_dim = dim;
    table.feature_names = {CategoryName(static_cast<int>(config.tables.size()))};
    table.optimizer = config.sparse_optimizer;
    config.tables.push_back(table);
  }
  return config;
}

}  // namespace tessera::bench
