#include "planner/calibration/table_trial.h"

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "embedding/table_batched_embedding.h"
#include "runtime/tensor.h"

namespace tessera {
namespace {

constexpr unsigned kBatches = 3;

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

std::vector<std::string> KeysOf(const TableTrial& trial) {
  std::vector<std::string> keys;
  for (int64_t t = 0; t < trial.tables; ++t) keys.push_back(std::to_string(t));
  return keys;
}

KeyedJaggedTensor MakeBatch(Context& ctx, const TableTrial& trial, unsigned seed) {
  std::mt19937_64 random(seed);
  const int64_t named = trial.named_rows > 0 ? std::min(trial.named_rows, trial.rows) : trial.rows;
  const int64_t step = trial.rows / named;
  std::vector<int64_t> ids(static_cast<size_t>(trial.tables * trial.bags * trial.ids));
  for (int64_t& id : ids) id = static_cast<int64_t>(random() % static_cast<uint64_t>(named)) * step;
  return KeyedJaggedTensor::FromLengthsSync(
      KeysOf(trial), Tensor::From(ctx, ids),
      Tensor::From(
          ctx, std::vector<int64_t>(static_cast<size_t>(trial.tables * trial.bags), trial.ids)));
}

// Batches for one rank, a few of them in turn; in front of a cache, which would soon hold their
// rows, a new one each time.
class Batches {
 public:
  Batches(Rounds& rounds, const TableTrial& trial)
      : ctx_(rounds.ctx()),
        trial_(trial),
        seed_(static_cast<unsigned>(100'000 * rounds.comm().rank())) {
    for (unsigned b = 0; b < kBatches && !IsCached(trial.location); ++b)
      few_.push_back(MakeBatch(ctx_, trial, seed_ + b));
  }

  KeyedJaggedTensor Next() {
    const unsigned step = next_++;
    return few_.empty() ? MakeBatch(ctx_, trial_, seed_ + step) : few_[step % kBatches];
  }

 private:
  Context& ctx_;
  const TableTrial& trial_;
  unsigned seed_, next_ = 0;
  std::vector<KeyedJaggedTensor> few_;
};

// Batches that name each row once, for tables behind a cache: it is full then, and the rows that it
// lacks were written.
std::vector<KeyedJaggedTensor> BatchesOfAllRows(Context& ctx, const TableTrial& trial) {
  constexpr int64_t kIds = 32768;
  std::vector<KeyedJaggedTensor> batches;
  for (int64_t row = 0; row < trial.rows && IsCached(trial.location); row += kIds) {
    std::vector<int64_t> ids;
    for (int64_t t = 0; t < trial.tables; ++t)
      for (int64_t i = row; i < std::min(row + kIds, trial.rows); ++i) ids.push_back(i);
    const std::vector<int64_t> lengths(static_cast<size_t>(trial.tables),
                                       std::ssize(ids) / trial.tables);
    batches.push_back(KeyedJaggedTensor::FromLengthsSync(KeysOf(trial), Tensor::From(ctx, ids),
                                                         Tensor::From(ctx, lengths)));
  }
  return batches;
}

// Adds up what the caches of all tables counted; calls are those of one table.
CacheStats StatsOf(Context& ctx, TableBatchedEmbedding& tables, const TableTrial& trial) {
  CacheStats sum;
  for (int t = 0; t < tables.num_tables() && IsCached(trial.location); ++t) {
    const CacheStats one = tables.caches().StatsSync(ctx, t);
    sum.calls = one.calls;
    sum.misses += one.misses;
  }
  return sum;
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
  Batches batches(rounds, trial);
  const Tensor grad = Tensor::Full(ctx, {trial.bags, trial.tables * trial.dim}, 1e-3);
  for (const KeyedJaggedTensor& batch : BatchesOfAllRows(ctx, trial)) {
    Tape tape(ctx);
    const Variable out = tables.Forward(ctx, batch);
    tape.Backward(out, Tensor::Full(ctx, out.shape(), 1e-3));
  }
  const CacheStats before = StatsOf(ctx, tables, trial);
  const std::vector<double> times = rounds.Medians([&] {
    const KeyedJaggedTensor batch = batches.Next();
    Tape tape(ctx);
    Variable out;
    const double forward = rounds.Time([&] { out = tables.Forward(ctx, batch); });
    return std::vector<double>{forward, rounds.Time([&] { tape.Backward(out, grad); })};
  });
  const CacheStats after = StatsOf(ctx, tables, trial);
  const auto calls = static_cast<double>(std::max<int64_t>(1, after.calls - before.calls));
  return {times[0], times[1], static_cast<double>(after.misses - before.misses) / calls};
}

}  // namespace tessera
