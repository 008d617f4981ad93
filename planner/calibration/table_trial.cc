#include "planner/calibration/table_trial.h"

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "embedding/table_batched_embedding.h"
#include "runtime/tensor.h"

namespace tessera {
namespace {

constexpr int kBatches = 3;

std::vector<BaseEmbeddingConfig> MakeConfigs(const TableTrial& trial) {
  std::vector<BaseEmbeddingConfig> configs;
  for (int64_t t = 0; t < trial.tables; ++t) {
    BaseEmbeddingConfig c;
    c.name = std::to_string(t);
    c.num_embeddings = trial.rows;
    c.embedding_dim = trial.dim;
    c.data_type = trial.row_type;
    c.optimizer = trial.rule;
    c.location = trial.location;
    if (trial.location != EmbeddingLocation::kDisk)
      c.init_fn = [](Context& ctx, const Tensor& rows) {
        rows.CopyFrom(ctx, Tensor::Zeros(ctx, rows.shape()));
      };
    configs.push_back(std::move(c));
  }
  return configs;
}

KeyedJaggedTensor MakeBatch(Context& ctx, const TableTrial& trial, unsigned seed) {
  std::mt19937_64 random(seed);
  const int64_t named = trial.named_rows > 0 ? std::min(trial.named_rows, trial.rows) : trial.rows;
  const int64_t step = trial.rows / named;
  std::vector<int64_t> ids(static_cast<size_t>(trial.tables * trial.bags * trial.ids));
  for (int64_t& id : ids) id = static_cast<int64_t>(random() % static_cast<uint64_t>(named)) * step;
  std::vector<std::string> keys;
  for (int64_t t = 0; t < trial.tables; ++t) keys.push_back(std::to_string(t));
  return KeyedJaggedTensor::FromLengthsSync(
      std::move(keys), Tensor::From(ctx, ids),
      Tensor::From(
          ctx, std::vector<int64_t>(static_cast<size_t>(trial.tables * trial.bags), trial.ids)));
}

}  // namespace

TableTimes TimeTables(Rounds& rounds, const TableTrial& trial) {
  Context& ctx = rounds.ctx();
  std::vector<EmbeddingFeature> features;
  for (int64_t t = 0; t < trial.tables; ++t) {
    const std::string key = std::to_string(t);
    features.push_back({key, static_cast<int>(t), key});
  }
  TableBatchedEmbedding tables(
      ctx, MakeConfigs(trial),
      std::vector<PoolingType>(static_cast<size_t>(trial.tables), PoolingType::kSum), features,
      {.bounds_check = BoundsCheckMode::kNone});
  std::vector<KeyedJaggedTensor> batches;
  for (int b = 0; b < kBatches; ++b)
    batches.push_back(MakeBatch(ctx, trial, static_cast<unsigned>(100 * rounds.comm().rank() + b)));
  const Tensor grad = Tensor::Full(ctx, {trial.bags, trial.tables * trial.dim}, 1e-3);
  size_t next = 0;
  const std::vector<double> times = rounds.Medians([&] {
    const KeyedJaggedTensor& batch = batches[next++ % kBatches];
    Tape tape(ctx);
    Variable out;
    const double forward = rounds.Time([&] { out = tables.Forward(ctx, batch); });
    return std::vector<double>{forward, rounds.Time([&] { tape.Backward(out, grad); })};
  });
  CacheStats cache;
  if (IsCached(trial.location)) cache = tables.caches().StatsSync(ctx, 0);
  const auto calls = static_cast<double>(std::max<int64_t>(1, cache.calls));
  return {times[0], times[1], static_cast<double>(cache.misses) / calls};
}

}  // namespace tessera
