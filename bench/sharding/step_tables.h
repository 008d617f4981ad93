#ifndef TESSERA_BENCH_SHARDING_STEP_TABLES_H_
#define TESSERA_BENCH_SHARDING_STEP_TABLES_H_
// The tables of a sharded step that benches time, all of one shape, and batches of uniform ids.
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "runtime/tensor.h"
#include "sharding/sharded_tables.h"

namespace tessera::bench {

// `batch` is the bags of a rank and table, `ids` those of a bag.
struct StepShape {
  int64_t tables = 8, rows = 100'000, dim = 64, batch = 1024, ids = 10;
};

// Tables t0, t1, … of features f0, f1, …, with row-wise Adagrad.
inline std::vector<BaseEmbeddingConfig> Configs(const StepShape& s) {
  std::vector<BaseEmbeddingConfig> configs;
  for (int64_t t = 0; t < s.tables; ++t) {
    BaseEmbeddingConfig c;
    c.name = "t" + std::to_string(t);
    c.num_embeddings = s.rows;
    c.embedding_dim = s.dim;
    c.feature_names = {"f" + std::to_string(t)};
    c.optimizer = RowwiseAdagrad{.lr = 0.01f};
    configs.push_back(c);
  }
  return configs;
}

inline std::vector<EmbeddingFeature> FeaturesOf(const StepShape& s) {
  std::vector<EmbeddingFeature> features;
  for (int64_t t = 0; t < s.tables; ++t) {
    const std::string key = "f" + std::to_string(t);
    features.push_back({key, static_cast<int>(t), key});
  }
  return features;
}

inline KeyedJaggedTensor Draw(Context& ctx, const StepShape& s, int64_t batch, unsigned seed) {
  std::mt19937_64 random(seed);
  std::vector<int64_t> ids(static_cast<size_t>(s.tables * batch * s.ids));
  for (int64_t& id : ids) id = static_cast<int64_t>(random() % static_cast<uint64_t>(s.rows));
  std::vector<std::string> keys;
  for (const EmbeddingFeature& f : FeaturesOf(s)) keys.push_back(f.key);
  return KeyedJaggedTensor::FromLengthsSync(
      keys, Tensor::From(ctx, ids),
      Tensor::From(ctx, std::vector<int64_t>(static_cast<size_t>(s.tables * batch), s.ids)));
}

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_SHARDING_STEP_TABLES_H_
