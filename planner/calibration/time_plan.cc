#include "planner/calibration/time_plan.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <random>
#include <utility>

#include "planner/calibration/rounds.h"
#include "planner/step_model/cache_misses.h"
#include "planner/step_model/rule_by_name.h"
#include "runtime/ops/linear.h"
#include "runtime/ops/shaping.h"
#include "runtime/tensor.h"
#include "sharding/kernel_location.h"
#include "sharding/sharded_tables.h"

namespace tessera {
namespace {

constexpr unsigned kBatches = 4;
constexpr double kMaxWarmUpSteps = 400;

bool HasCache(const ShardingPlan& plan, const StepTable& table) {
  return IsCached(LocationUnder(plan.tables.at(table.name).kernel, EmbeddingLocation::kDevice));
}

bool HasCaches(const StepLoad& load, const ShardingPlan& plan) {
  return std::any_of(load.tables.begin(), load.tables.end(),
                     [&](const StepTable& t) { return HasCache(plan, t); });
}

// Steps until a shard's cache is full; 0 where it lacks nothing.
double StepsToFill(const StepTable& table, const Shard& shard, int ranks) {
  const auto rows = static_cast<double>(shard.rows), columns = static_cast<double>(shard.columns);
  double misses = 0;
  for (const StepFeature& f : table.features) {
    const double share =
        ShareOfRows(f.popularity, table.rows, shard.row_offset, shard.row_offset + shard.rows);
    misses += FeatureMisses(table, f, rows, columns, f.ids * share * ranks);
  }
  return misses > 0 ? LinesOfPart(table, rows, columns) / misses : 0;
}

// Steps until the caches are full.
int WarmUpSteps(const StepLoad& load, const ShardingPlan& plan, int ranks) {
  double steps = 0;
  for (const StepTable& t : load.tables) {
    if (!HasCache(plan, t)) continue;
    for (const Shard& shard : plan.tables.at(t.name).shards)
      if (shard.rows > 0) steps = std::max(steps, StepsToFill(t, shard, ranks));
  }
  return static_cast<int>(std::ceil(std::min(steps, kMaxWarmUpSteps)));
}

std::vector<BaseEmbeddingConfig> MakeConfigs(const StepLoad& load, const ShardingPlan& plan) {
  std::vector<BaseEmbeddingConfig> configs;
  for (const StepTable& t : load.tables) {
    TESSERA_CHECK(!t.weighted, "table {}: steps of weighted tables are not made up", t.name);
    BaseEmbeddingConfig c;
    c.name = t.name;
    c.num_embeddings = t.rows;
    c.embedding_dim = t.dim;
    c.data_type = t.row_type;
    c.state_type = t.state_type;
    c.optimizer = RuleByName(t.rule);
    c.init_range = std::pair(0.0f, 0.0f);
    if (HasCache(plan, t)) c.cache = t.cache;
    configs.push_back(std::move(c));
  }
  return configs;
}

std::vector<PoolingType> PoolingsOf(const StepLoad& load) {
  std::vector<PoolingType> poolings;
  for (const StepTable& t : load.tables)
    poolings.push_back(t.sequences ? PoolingType::kNone : PoolingType::kSum);
  return poolings;
}

std::vector<EmbeddingFeature> FeaturesOf(const StepLoad& load) {
  std::vector<EmbeddingFeature> features;
  for (size_t t = 0; t < load.tables.size(); ++t)
    for (size_t f = 0; f < load.tables[t].features.size(); ++f) {
      const std::string key = std::to_string(features.size());
      features.push_back({key, static_cast<int>(t), key});
    }
  return features;
}

// Draws rows as a feature names them.
class RowDraw {
 public:
  RowDraw(const RowPopularity& popularity, int64_t rows) : popularity_(popularity), rows_(rows) {
    double share = 0, first = 0;
    for (const RowGroup& g : popularity.groups) {
      ends_.push_back(share += g.share);
      firsts_.push_back(first);
      first += g.rows;
    }
    // Popular rows are strewn over the table, by a step that has no factor in common with its rows.
    step_ = static_cast<int64_t>(0.618 * static_cast<double>(rows)) | 1;
    while (std::gcd(step_, rows) != 1) step_ += 2;
  }

  int64_t operator()(std::mt19937_64& random) const {
    std::uniform_real_distribution<double> uniform(0, ends_.back());
    const auto found = std::upper_bound(ends_.begin(), ends_.end() - 1, uniform(random));
    const auto g = static_cast<size_t>(found - ends_.begin());
    std::uniform_real_distribution<double> within(0, popularity_.groups[g].rows);
    const auto row = std::min(rows_ - 1, static_cast<int64_t>(firsts_[g] + within(random)));
    return popularity_.row_shares.empty() ? row * step_ % rows_ : row;
  }

 private:
  const RowPopularity& popularity_;
  int64_t rows_, step_ = 1;
  std::vector<double> ends_, firsts_;
};

// A batch: each bag of a feature has one of the two numbers of ids nearest to the mean.
KeyedJaggedTensor MakeBatch(Context& ctx, const StepLoad& load, unsigned seed) {
  std::mt19937_64 random(seed);
  std::vector<int64_t> ids, lengths;
  std::vector<std::string> keys;
  for (const StepTable& table : load.tables)
    for (const StepFeature& f : table.features) {
      const RowDraw draw(f.popularity, table.rows);
      keys.push_back(std::to_string(keys.size()));
      const int64_t bags = std::llround(f.bags), total = std::llround(f.ids);
      for (int64_t b = 0; b < bags; ++b)
        lengths.push_back(total * (b + 1) / bags - total * b / bags);
      for (int64_t i = 0; i < (bags > 0 ? total : 0); ++i) ids.push_back(draw(random));
    }
  return KeyedJaggedTensor::FromLengthsSync(std::move(keys), Tensor::From(ctx, ids),
                                            Tensor::From(ctx, lengths));
}

constexpr int64_t kSweptRows = 32768;
// Rows beyond these, whose writing would take minutes, are made when they are named.
constexpr int64_t kMaxSweepSteps = 64;

// Steps until all rows of tables behind caches were named: rows that a cache lacks were written
// then.
int64_t SweepSteps(const StepLoad& load, const ShardingPlan& plan, int ranks) {
  int64_t rows = 0;
  for (const StepTable& t : load.tables)
    if (HasCache(plan, t)) rows = std::max(rows, t.rows);
  const int64_t of_step = kSweptRows * ranks;
  return std::min((rows + of_step - 1) / of_step, kMaxSweepSteps);
}

// A rank's batch of such a step: one bag a feature, of the next rows of the first feature's table.
KeyedJaggedTensor MakeSweepBatch(Context& ctx, const StepLoad& load, const ShardingPlan& plan,
                                 int64_t first) {
  std::vector<int64_t> ids, lengths;
  std::vector<std::string> keys;
  for (const StepTable& table : load.tables)
    for (size_t f = 0; f < table.features.size(); ++f) {
      const int64_t end = std::min(table.rows, first + kSweptRows);
      keys.push_back(std::to_string(keys.size()));
      lengths.push_back(f == 0 && HasCache(plan, table) ? std::max<int64_t>(0, end - first) : 0);
      for (int64_t i = 0; i < lengths.back(); ++i) ids.push_back(first + i);
    }
  return KeyedJaggedTensor::FromLengthsSync(std::move(keys), Tensor::From(ctx, ids),
                                            Tensor::From(ctx, lengths));
}

// The dense part of a step: square layers, and the all-reduce of gradients.
class DensePart {
 public:
  DensePart(Context& ctx, const StepLoad& load)
      : gradients_(Tensor::Zeros(ctx, {static_cast<int64_t>(load.dense_bytes / 4)})) {
    constexpr int64_t kBatch = 512;
    for (const double flops : load.dense_flops) {
      const auto width = std::max<int64_t>(1, std::llround(std::sqrt(flops / (6 * kBatch))));
      layers_.push_back({Variable(Tensor::Full(ctx, {kBatch, width}, 0.5), true),
                         Variable(Tensor::Full(ctx, {width, width}, 0.01), true),
                         Tensor::Full(ctx, {kBatch, width}, 1e-3)});
    }
  }

  void Run(Context& ctx, Communicator& comm) {
    for (const Layer& layer : layers_) {
      Tape tape(ctx);
      tape.Backward(LinearRelu(ctx, layer.input, layer.weight, {}), layer.grad);
    }
    if (gradients_.numel() > 0)
      comm.AllReduce(ctx, gradients_, ReduceOp::kSum, "dense gradients").Wait();
  }

 private:
  struct Layer {
    Variable input, weight;
    Tensor grad;
  };
  Tensor gradients_;
  std::vector<Layer> layers_;
};

// The variable that backward starts from: all outputs as one.
Variable RootOf(Context& ctx, const std::vector<Variable>& outputs) {
  if (outputs.size() == 1) return outputs[0];
  std::vector<Variable> flat;
  for (const Variable& s : outputs) flat.push_back(Reshape(ctx, s, {-1}));
  return Concat(ctx, flat, 0);
}

int64_t SumOverRanks(Communicator& comm, int64_t mine) {
  const std::vector<std::vector<int64_t>> to_each(static_cast<size_t>(comm.size()), {mine});
  int64_t sum = 0;
  for (const auto& of_rank : comm.ExchangeNumbersSync(to_each, "measurement")) sum += of_rank[0];
  return sum;
}

// Ranks measured in groups before, and drew more numbers than others: replicas have to start alike.
Context& DrawAlike(Context& ctx) {
  ctx.random() = Random(ctx.random().seed());
  return ctx;
}

class PlannedStep {
 public:
  PlannedStep(Context& ctx, Communicator& comm, const StepLoad& load, const ShardingPlan& plan)
      : comm_(comm),
        tables_(DrawAlike(ctx), comm, MakeConfigs(load, plan), PoolingsOf(load), FeaturesOf(load),
                plan, {.sharding = {.codecs = load.codecs}}),
        dense_(ctx, load),
        load_(load),
        has_caches_(HasCaches(load, plan)) {
    for (unsigned b = 0; b < kBatches; ++b) batches_.push_back(Batch(ctx, b));
  }

  // Names all rows of tables behind caches.
  void Sweep(Context& ctx, const ShardingPlan& plan) {
    const int64_t steps = SweepSteps(load_, plan, comm_.size());
    for (int64_t step = 0; step < steps; ++step) {
      const int64_t first = (step * comm_.size() + comm_.rank()) * kSweptRows;
      Tape tape(ctx);
      const Variable root =
          RootOf(ctx, tables_.Forward(ctx, MakeSweepBatch(ctx, load_, plan, first)));
      tape.Backward(root, Tensor::Full(ctx, root.value().shape(), 1e-3));
    }
  }

  // The seconds of its phases.
  std::vector<double> Run(Context& ctx) {
    const KeyedJaggedTensor batch = NextBatch(ctx);
    std::vector<double> seconds;
    auto last = std::chrono::steady_clock::now();
    const auto lap = [&] {
      ctx.Sync();
      const auto now = std::chrono::steady_clock::now();
      seconds.push_back(std::chrono::duration<double>(now - last).count());
      last = now;
    };
    Tape tape(ctx);
    const InputDist input = tables_.StartInputDist(ctx, batch).Wait();
    lap();
    auto sent = tables_.StartOutputDist(ctx, batch, input);
    lap();
    const std::vector<Variable> out = sent.Wait();
    lap();
    dense_.Run(ctx, comm_);
    lap();
    const Variable root = RootOf(ctx, out);
    if (!grad_) grad_ = Tensor::Full(ctx, root.value().shape(), 1e-3);
    tape.Backward(root, grad_);
    lap();
    return seconds;
  }

  // Steps run so far, and rows that this rank's caches lacked in them.
  int64_t steps() const { return next_; }
  int64_t MissesSync(Context& ctx) const {
    int64_t misses = 0;
    for (const TableBatchedEmbedding* part : tables_.parts())
      for (int t = 0; t < part->num_tables(); ++t)
        misses += part->caches().StatsSync(ctx, t).misses;
    return misses;
  }

 private:
  KeyedJaggedTensor Batch(Context& ctx, unsigned step) const {
    return MakeBatch(ctx, load_, 100'000 * static_cast<unsigned>(comm_.rank()) + step);
  }

  // A cache would soon hold every row of the same few batches. Drawing a batch
  // keeps ranks apart, so they meet before the step.
  KeyedJaggedTensor NextBatch(Context& ctx) {
    const unsigned step = next_++;
    if (!has_caches_) return batches_[step % kBatches];
    KeyedJaggedTensor batch = Batch(ctx, step);
    comm_.Barrier(ctx, "measurement").Wait();
    return batch;
  }

  Communicator& comm_;
  ShardedTables tables_;
  DensePart dense_;
  const StepLoad& load_;
  bool has_caches_;
  std::vector<KeyedJaggedTensor> batches_;
  Tensor grad_;  // all batches have one shape
  unsigned next_ = 0;
};

}  // namespace

PlanTime TimePlan(Context& ctx, Communicator& comm, const StepLoad& load, const ShardingPlan& plan,
                  double budget) {
  PlannedStep step(ctx, comm, load, plan);
  step.Sweep(ctx, plan);
  for (int i = WarmUpSteps(load, plan, comm.size()); i > 0; --i) step.Run(ctx);
  const int64_t first_step = step.steps(), first_miss = step.MissesSync(ctx);
  Rounds rounds(ctx, comm, budget);
  // Steps run one after another: ranks wait for each other inside of them, and nowhere else.
  const std::vector<double> times = rounds.Medians([&] {
    std::vector<double> phases = step.Run(ctx);
    phases.push_back(std::accumulate(phases.begin(), phases.end(), 0.0));
    return phases;
  });
  const int64_t misses = SumOverRanks(comm, step.MissesSync(ctx) - first_miss);
  return {
      .seconds = times.back(),
      .phases = {times.begin(), times.end() - 1},
      .cache_misses = static_cast<double>(misses) / static_cast<double>(step.steps() - first_step)};
}

}  // namespace tessera
