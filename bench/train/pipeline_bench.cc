// Training steps by each pipeline beside the plain loop, on ranks that are threads: over `local`,
// and over a link so slow (comm/slow_communicator.h) that exchanges are a good part of a step.
//
//   bazel run -c opt //bench/train:pipeline_bench -- [--trace OUT] [--json OUT]
//
// A DLRM of 8 tables of 100,000 rows, D = 32, table-wise on 2 ranks; 512 examples a rank with bags
// of 20 ids; row-wise Adagrad. Loops take turns, round after round, in one process, from a warm
// pipeline; a ratio is the median over rounds of that round's plain loop by its pipeline. The share
// of exchanges is what the slow link adds to the plain loop.
#include <cstdio>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <random>

#include "bench/harness/bench_main.h"
#include "bench/harness/cold_rounds.h"
#include "comm/local_communicator.h"
#include "comm/slow_communicator.h"
#include "runtime/files/trace.h"
#include "runtime/flags/flags.h"
#include "runtime/tensor.h"
#include "sharding/exchange/dist_layout.h"
#include "train/pipeline/trainer_pipeline.h"
#include "train/ranks_plan.h"

namespace tessera::bench {
namespace {

using Json = nlohmann::json;

struct BenchFlags {
  int ranks = 2, rounds = 7, steps = 40;
  int64_t tables = 8, rows = 100'000, dim = 32, batch = 512, ids = 20;
  double latency_ms = 0.5, mb_per_s = 100;
  std::string trace, json;
};

constexpr int kBatches = 8, kWarmSteps = 5;
constexpr PipelineKind kKinds[] = {PipelineKind::kNone, PipelineKind::kBase,
                                   PipelineKind::kSparseDist, PipelineKind::kSemiSync};

TrainConfig ConfigOf(const BenchFlags& f) {
  Json tables = Json::array();
  for (int64_t t = 0; t < f.tables; ++t)
    tables.push_back({{"name", "t" + std::to_string(t)},
                      {"rows", f.rows},
                      {"dim", f.dim},
                      {"features", {"cat_" + std::to_string(t)}}});
  const Json config = {
      {"tables", tables},
      {"model", {{"type", "dlrm"}, {"dense_arch", {64, f.dim}}, {"over_arch", {128, 64, 1}}}},
      {"optimizer",
       {{"sparse", {{"name", "rowwise_adagrad"}, {"lr", 0.01}}},
        {"dense", {{"name", "adam"}, {"lr", 0.001}}}}},
      {"data", {{"format", "planted"}, {"rows", 1000}, {"vocabulary", 50}}},
      {"train", {{"batch_size", f.batch * f.ranks}, {"seed", 1}}}};
  return ParseTrainConfig(config.dump(), "pipeline_bench");
}

// This rank's part of a batch.
Batch Draw(Context& host, const BenchFlags& f, unsigned seed) {
  std::mt19937_64 random(seed);
  std::vector<std::string> keys;
  for (int64_t t = 0; t < f.tables; ++t) keys.push_back("cat_" + std::to_string(t));
  std::vector<int64_t> ids(static_cast<size_t>(f.tables * f.batch * f.ids));
  for (int64_t& id : ids) id = static_cast<int64_t>(random() % static_cast<uint64_t>(f.rows));
  const std::vector<int64_t> lengths(static_cast<size_t>(f.tables * f.batch), f.ids);
  std::vector<float> labels(static_cast<size_t>(f.batch));
  for (float& label : labels) label = static_cast<float>(random() % 2);
  Batch batch;
  batch.dense = Tensor::Full(host, {f.batch, 13}, 0.5);
  batch.features = KeyedJaggedTensor::FromLengthsSync(keys, Tensor::From(host, ids),
                                                      Tensor::From(host, lengths));
  batch.labels = Tensor::From(host, labels);
  batch.rows_of_all = f.batch * f.ranks;
  batch.features.Sync(host);  // batches come again, to other threads
  batch.features.Contains(keys[0]);
  return batch;
}

class InMemory final : public DataSource {
 public:
  InMemory(const std::vector<Batch>& batches, int count) : batches_(batches), left_(count) {}
  std::optional<Batch> Next() override {
    if (left_ == 0) return std::nullopt;
    return batches_[static_cast<size_t>(--left_) % batches_.size()];
  }

 private:
  const std::vector<Batch>& batches_;
  int left_;
};

// Seconds a step.
double TimeSteps(Context& ctx, Communicator& comm, TrainerPipeline& pipeline,
                 const std::vector<Batch>& batches, int steps) {
  InMemory source(batches, kWarmSteps + steps);
  const auto running = pipeline.Over(source, false);
  for (int s = 0; s < kWarmSteps; ++s) running->Next();
  comm.Barrier(ctx, "steps").Wait();
  const double seconds = SecondsOf([&] {
    for (int s = 0; s < steps; ++s) running->Next();
    comm.Barrier(ctx, "steps").Wait();
  });
  return seconds / steps;
}

using Timings = std::map<PipelineKind, Timing>;

// Times rank 0. trace gets the spans of its last round; it may be null.
Timings Measure(const BenchFlags& f, const SlowLink* link, Trace* trace) {
  Timings timings;
  RunLocalRanks(f.ranks, [&](Communicator& local) {
    // A group of its own, so that it can be wrapped.
    std::unique_ptr<Communicator> comm = local.Split(0, local.rank());
    if (link != nullptr) comm = MakeSlowCommunicator(std::move(comm), *link);
    Context ctx({.threads = 1, .seed = 1});
    const TrainConfig config = ConfigOf(f);
    Trainer trainer(ctx, config,
                    TrainingRanks{comm.get(), MakeRanksPlan("table_wise", {f.ranks, f.ranks},
                                                            ShapesOf(config.tables))});
    std::vector<Batch> batches;
    for (int b = 0; b < kBatches; ++b)
      batches.push_back(Draw(ctx, f, static_cast<unsigned>(100 * comm->rank() + b)));
    std::map<PipelineKind, TrainerPipeline> pipelines;
    for (const PipelineKind kind : kKinds) pipelines.emplace(kind, TrainerPipeline(trainer, kind));
    for (int r = 0; r < f.rounds; ++r)
      for (const PipelineKind kind : kKinds) {
        const bool traced = trace != nullptr && r + 1 == f.rounds &&
                            (kind == PipelineKind::kNone || kind == PipelineKind::kSparseDist);
        const TraceHere here(traced ? &trace->Thread(comm->rank(), "step") : nullptr);
        const double s = TimeSteps(ctx, *comm, pipelines.at(kind), batches, f.steps);
        if (comm->rank() == 0) timings[kind].seconds.push_back(s);
      }
  });
  return timings;
}

Json Report(const char* name, const Timings& timings) {
  Json rows = Json::array();
  for (const PipelineKind kind : kKinds) {
    const double ms = 1e3 * timings.at(kind).Median(),
                 ratio = Share(timings.at(PipelineKind::kNone), timings.at(kind));
    std::printf("%-8s %-12s %9.2f ms a step %8.3f x\n", name, std::string(ToString(kind)).c_str(),
                ms, ratio);
    rows.push_back(
        {{"name", Format("{}/{}", name, ToString(kind))}, {"seconds", ms / 1e3}, {"ratio", ratio}});
  }
  return rows;
}

int Main(int argc, char** argv) {
  BenchFlags f;
  internal::ProgramFlags flags("Pipelines beside the plain training loop");
  flags.Add("--ranks", f.ranks, "threads of this process");
  flags.Add("--rounds", f.rounds, "of all loops in turn");
  flags.Add("--steps", f.steps, "of a loop in a round");
  flags.Add("--batch", f.batch, "examples a rank");
  flags.Add("--ids", f.ids, "of a bag");
  flags.Add("--dim", f.dim, "of rows");
  flags.Add("--latency-ms", f.latency_ms, "of the slow link");
  flags.Add("--mb-per-s", f.mb_per_s, "of the slow link");
  flags.Add("--trace", f.trace, "write plain and sparse_dist steps over the slow link here");
  flags.Add("--json", f.json, "also write the results to this file");
  if (!flags.Parse(argc, argv)) return 0;

  std::printf("%s; %d ranks, one thread each; slow: %g ms and %g MB/s\n", MachineName().c_str(),
              f.ranks, f.latency_ms, f.mb_per_s);
  Trace trace;
  const SlowLink link = {f.latency_ms / 1e3, f.mb_per_s * 1e6};
  const Timings local = Measure(f, nullptr, nullptr),
                slow = Measure(f, &link, f.trace.empty() ? nullptr : &trace);
  Json rows = Report("local", local);
  for (const Json& row : Report("slow", slow)) rows.push_back(row);
  const double share =
      1 - local.at(PipelineKind::kNone).Median() / slow.at(PipelineKind::kNone).Median();
  std::printf("exchanges over the slow link: %.0f %% of the plain loop's step\n", 100 * share);
  if (!f.trace.empty()) Trace::Write(f.trace, {trace.Events()});
  if (!f.json.empty())
    std::ofstream(f.json)
        << Json{{"machine", MachineName()}, {"exchange_share", share}, {"rows", rows}}.dump(1)
        << "\n";
  return 0;
}

}  // namespace
}  // namespace tessera::bench

int main(int argc, char** argv) {
  return tessera::bench::BenchMain("pipeline_bench", tessera::bench::Main, argc, argv);
}
