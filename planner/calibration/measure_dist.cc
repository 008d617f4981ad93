#include "planner/calibration/measure_dist.h"

#include <algorithm>
#include <optional>
#include <random>
#include <vector>

#include "planner/calibration/least_squares.h"
#include "planner/step_model/shard_work.h"
#include "runtime/tensor.h"
#include "sharding/plan/plan_makers.h"
#include "sharding/sharded_tables.h"

namespace tessera {
namespace {

constexpr int64_t kRows = 2048;
constexpr size_t kDistBatches = 3;
constexpr size_t kPhases =
    3;  // input_dist, output_dist without the lookup, backward without updates

struct DistTrial {
  ShardingType type = ShardingType::kTableWise;
  int64_t tables = 1, dim = 16, bags = 64, ids = 1;
};

std::vector<DistTrial> DistTrials(const MeasureSizes& sizes) {
  std::vector<DistTrial> trials;
  for (const ShardingType type :
       {ShardingType::kTableWise, ShardingType::kRowWise, ShardingType::kColumnWise})
    for (const DistTrial& shape :
         {DistTrial{type, 2, 16, 16, 1}, DistTrial{type, 24, 16, 16, 1},
          DistTrial{type, 8, 16, 1024, 1}, DistTrial{type, 8, 16, 1024, 16},
          DistTrial{type, 8, 128, 1024, 2}, DistTrial{type, 2, 256, 2048, 4},
          DistTrial{type, 24, 64, 256, 8}, DistTrial{type, 4, 64, 128, 32},
          DistTrial{type, 24, 16, 4096, 1}, DistTrial{type, 8, 32, 8192, 4}})
      trials.push_back(shape);
  for (DistTrial& trial : trials) trial.bags = sizes.Bags(trial.bags);
  return trials;
}

std::vector<BaseEmbeddingConfig> MakeDistConfigs(const DistTrial& trial) {
  std::vector<BaseEmbeddingConfig> configs;
  for (int64_t t = 0; t < trial.tables; ++t) {
    BaseEmbeddingConfig c;
    c.name = std::to_string(t);
    c.num_embeddings = kRows;
    c.embedding_dim = trial.dim;
    configs.push_back(std::move(c));
  }
  return configs;
}

ShardingPlan MakePlan(const DistTrial& trial, int ranks) {
  std::vector<TableShape> shapes;
  std::map<std::string, TableSharder> sharders;
  for (const BaseEmbeddingConfig& c : MakeDistConfigs(trial)) {
    const int home = static_cast<int>(shapes.size()) % ranks;
    shapes.push_back({c.name, c.num_embeddings, c.embedding_dim});
    sharders[c.name] = trial.type == ShardingType::kRowWise ? RowWise()
                       : trial.type == ShardingType::kColumnWise
                           ? ColumnWise({home, (home + 1) % ranks})
                           : TableWise(home);
  }
  return MakeShardingPlan({ranks, ranks}, shapes, sharders);
}

StepLoad LoadOf(const DistTrial& trial) {
  StepLoad load;
  for (const BaseEmbeddingConfig& c : MakeDistConfigs(trial)) {
    StepTable table{.name = c.name, .rows = kRows, .dim = trial.dim};
    table.features.push_back({static_cast<double>(trial.bags),
                              static_cast<double>(trial.bags * trial.ids), UniformRows(kRows)});
    load.tables.push_back(std::move(table));
  }
  return load;
}

KeyedJaggedTensor MakeDistBatch(Context& ctx, const DistTrial& trial, unsigned seed) {
  std::mt19937_64 random(seed);
  std::vector<int64_t> ids(static_cast<size_t>(trial.tables * trial.bags * trial.ids));
  for (int64_t& id : ids) id = static_cast<int64_t>(random() % static_cast<uint64_t>(kRows));
  std::vector<std::string> keys;
  for (const BaseEmbeddingConfig& c : MakeDistConfigs(trial)) keys.push_back(c.name);
  return KeyedJaggedTensor::FromLengthsSync(
      std::move(keys), Tensor::From(ctx, ids),
      Tensor::From(
          ctx, std::vector<int64_t>(static_cast<size_t>(trial.tables * trial.bags), trial.ids)));
}

// Seconds of each phase. Tables are frozen: backward exchanges gradients, and that is all.
std::vector<double> TimePhases(Rounds& rounds, const DistTrial& trial) {
  Context& ctx = rounds.ctx();
  Communicator& comm = rounds.comm();
  std::vector<EmbeddingFeature> features;
  for (const BaseEmbeddingConfig& c : MakeDistConfigs(trial))
    features.push_back({c.name, static_cast<int>(features.size()), c.name});
  ShardedTables tables(ctx, comm, MakeDistConfigs(trial),
                       std::vector<PoolingType>(features.size(), PoolingType::kSum), features,
                       MakePlan(trial, comm.size()));
  for (const HeldShard& shard : tables.shards()) shard.tables->SetFrozen(shard.index, true);
  std::vector<KeyedJaggedTensor> batches;
  for (size_t b = 0; b < kDistBatches; ++b)
    batches.push_back(MakeDistBatch(
        ctx, trial, static_cast<unsigned>(100 * comm.rank()) + static_cast<unsigned>(b)));
  const Tensor grad = Tensor::Full(ctx, {trial.bags, trial.tables * trial.dim}, 1e-3);
  size_t next = 0;
  return rounds.Medians([&] {
    const KeyedJaggedTensor& batch = batches[next++ % kDistBatches];
    std::vector<double> seconds;
    Tape tape(ctx);
    std::optional<InputDist> input;
    std::optional<Awaitable<std::vector<Variable>>> sent;
    std::vector<Variable> out;
    seconds.push_back(
        rounds.Time([&] { input.emplace(tables.StartInputDist(ctx, batch).Wait()); }));
    rounds.Time([&] { sent.emplace(tables.StartOutputDist(ctx, batch, *input)); });
    seconds.push_back(rounds.Time([&] { out = sent->Wait(); }));
    seconds.push_back(rounds.Time([&] { tape.Backward(out[0], grad); }));
    return seconds;
  });
}

template <size_t n>
std::vector<double> MeanCounts(const PlanWork& work,
                               const std::array<double, n> RankWork::*counts) {
  std::vector<double> mean(n);
  for (const RankWork& rank : work.ranks)
    for (size_t i = 0; i < n; ++i)
      mean[i] += (rank.*counts)[i] / static_cast<double>(work.ranks.size());
  return mean;
}

// The network's seconds in each phase.
std::vector<double> Waits(const MachineProfile& profile, const PlanWork& work) {
  const auto longest = [&](const auto& bytes_of) {
    double most = 0;
    for (const RankWork& rank : work.ranks) {
      const WireBytes& bytes = bytes_of(rank);
      most = std::max({most, bytes.sent, bytes.received});
    }
    return CollectiveSeconds(profile, CollectiveOp::kAllToAll, static_cast<int>(work.ranks.size()),
                             most);
  };
  const double numbers =
      CollectiveSeconds(profile, CollectiveOp::kNumbers, static_cast<int>(work.ranks.size()), 0);
  const auto ids = [](const RankWork& w) -> const WireBytes& { return w.ids; };
  const auto rows = [](const RankWork& w) -> const WireBytes& { return w.rows.direct; };
  const auto gradients = [](const RankWork& w) -> const WireBytes& { return w.gradients.direct; };
  return {numbers + longest(ids), longest(rows), longest(gradients)};
}

template <size_t n>
void Fit(const std::vector<Bill>& bills, std::array<double, n>& prices) {
  const std::vector<double> fitted = FitPrices(bills);
  std::copy(fitted.begin(), fitted.end(), prices.begin());
}

}  // namespace

void MeasureDist(Rounds& rounds, const MeasureSizes& sizes,
                 const std::function<void(const std::string&)>& said, MachineProfile& profile) {
  const int ranks = rounds.comm().size();
  std::vector<Bill> bills[kPhases];
  said("exchanges of ids and rows");
  const MachineProfile nothing;
  for (const DistTrial& trial : DistTrials(sizes)) {
    const StepLoad load = LoadOf(trial);
    const WorkingSet none(load, ranks, 1);
    const PlanWork work =
        WorkOfPlan({&nothing, &none, &load, static_cast<double>(ranks)}, MakePlan(trial, ranks));
    const std::vector<double> seconds = TimePhases(rounds, trial);
    const std::vector<double> counts[kPhases] = {MeanCounts(work, &RankWork::input),
                                                 MeanCounts(work, &RankWork::output),
                                                 MeanCounts(work, &RankWork::gradient)};
    const std::vector<double> waits = Waits(profile, work);
    // The wire's time is taken off; at least a quarter always is the rank's own.
    for (size_t p = 0; p < kPhases; ++p)
      bills[p].push_back({counts[p], std::max(seconds[p] - waits[p], seconds[p] / 4)});
  }
  Fit(bills[0], profile.input_dist);
  Fit(bills[1], profile.output_dist);
  Fit(bills[2], profile.gradient_dist);
}

}  // namespace tessera
