// A sharded training step, forward, backward and update, on ranks that are threads of one process:
// time, samples a second, and where the time goes; beside it the same global batch on one rank with
// as many threads as the machine has cores.
//
//   bazel run -c opt //bench/sharding:step_bench -- --ranks 2,4 [--json OUT]
//
// The shape is that of TorchRec's step in the peers' alltoall.py: 8 tables of 100,000 rows, D = 64,
// 1,024 bags of 10 ids a rank and table, row-wise Adagrad. Warm caches. Names are the peers'.
#include <chrono>
#include <cstdio>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "bench/harness/bench_main.h"
#include "bench/harness/cold_rounds.h"
#include "bench/sharding/step_tables.h"
#include "comm/local_communicator.h"
#include "runtime/flags/flags.h"
#include "runtime/tensor.h"
#include "sharding/plan/plan_makers.h"
#include "sharding/sharded_tables.h"

namespace tessera::bench {
namespace {

using Json = nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr int kBatches = 4;

// A plan of the peers' kind `kind`; column blocks have at least 32 columns.
ShardingPlan PlanOf(const std::string& kind, const StepShape& s, int ranks) {
  ShardingPlan plan;
  plan.world_size = plan.local_size = ranks;
  std::vector<TableShape> tables;
  for (const BaseEmbeddingConfig& c : Configs(s))
    tables.push_back({c.name, c.num_embeddings, c.embedding_dim});
  std::map<std::string, TableSharder> sharders;
  for (size_t t = 0; t < tables.size(); ++t) {
    const int home = static_cast<int>(t) % ranks;
    sharders[tables[t].name] = kind == "data_parallel" ? DataParallel()
                               : kind == "row_wise"    ? RowWise()
                               : kind == "column_wise" ? ColumnWise({home, (home + 1) % ranks})
                                                       : TableWise(home);
  }
  return MakeShardingPlan({.world_size = ranks, .local_size = ranks}, tables, sharders);
}

constexpr const char* kPhases[] = {"input_dist", "lookup", "output_dist", "backward"};

struct Measured {
  std::vector<double> steps;
  double phases[4] = {};  // rank 0's, summed over the steps
};

double Since(Clock::time_point& last) {
  const Clock::time_point now = Clock::now();
  const double seconds = std::chrono::duration<double>(now - last).count();
  last = now;
  return seconds;
}

Measured Run(const std::string& kind, const StepShape& s, int ranks, int threads, int rounds) {
  Measured measured;
  RunLocalRanks(ranks, [&](Communicator& comm) {
    Context ctx({.threads = threads, .seed = 3});
    const auto configs = Configs(s);
    ShardedTables tables(ctx, comm, configs,
                         std::vector<PoolingType>(configs.size(), PoolingType::kSum), FeaturesOf(s),
                         PlanOf(kind, s, ranks));
    std::vector<KeyedJaggedTensor> batches;
    for (int b = 0; b < kBatches; ++b)
      batches.push_back(Draw(ctx, s, s.batch, static_cast<unsigned>(100 * comm.rank() + b)));
    const Tensor grad = Tensor::Full(ctx, {s.batch, s.tables * s.dim}, 1e-3);
    constexpr int kWarm = 4;
    for (int r = 0; r < kWarm + rounds; ++r) {
      comm.Barrier(ctx, "step").Wait();
      const Clock::time_point begin = Clock::now();
      Clock::time_point last = begin;
      double phases[4];
      {
        Tape tape(ctx);
        const KeyedJaggedTensor& kjt = batches[static_cast<size_t>(r % kBatches)];
        const InputDist input = tables.StartInputDist(ctx, kjt).Wait();
        phases[0] = Since(last);
        auto sent = tables.StartOutputDist(ctx, kjt, input);
        phases[1] = Since(last);
        const std::vector<Variable> out = sent.Wait();
        phases[2] = Since(last);
        tape.Backward(out[0], grad);
        phases[3] = Since(last);
      }
      comm.Barrier(ctx, "step").Wait();
      if (r < kWarm || comm.rank() != 0) continue;
      measured.steps.push_back(std::chrono::duration<double>(Clock::now() - begin).count());
      for (int p = 0; p < 4; ++p) measured.phases[p] += phases[p];
    }
  });
  return measured;
}

Json Row(const std::string& name, const StepShape& s, int ranks, int threads,
         const Measured& measured) {
  const Timing timing{name, measured.steps};
  double total = 0;
  for (const double p : measured.phases) total += p;
  Json row = {{"name", name},
              {"ranks", ranks},
              {"threads", threads},
              {"seconds", timing.Median()},
              {"p10", timing.Quantile(0.1)},
              {"p90", timing.Quantile(0.9)},
              {"samples_per_second", static_cast<double>(s.batch * ranks) / timing.Median()}};
  for (int p = 0; p < 4; ++p) row["share"][kPhases[p]] = measured.phases[p] / total;
  return row;
}

void Print(const Json& row) {
  std::printf("%-28s %5d %7d %9.2f %9.2f %9.2f %12.0f", row["name"].get<std::string>().c_str(),
              row["ranks"].get<int>(), row["threads"].get<int>(),
              1e3 * row["seconds"].get<double>(), 1e3 * row["p10"].get<double>(),
              1e3 * row["p90"].get<double>(), row["samples_per_second"].get<double>());
  for (const char* phase : kPhases)
    std::printf(" %10.0f%%", 100 * row["share"][phase].get<double>());
  std::printf("\n");
  std::fflush(stdout);
}

int Main(int argc, char** argv) {
  std::vector<int> ranks = {2, 4};
  std::vector<std::string> kinds = {"table_wise", "row_wise", "column_wise", "data_parallel"};
  int rounds = 40;
  std::string json_path;
  internal::ProgramFlags flags("Sharded training steps on ranks that are threads");
  flags.Add("--ranks", ranks, "numbers of ranks").Delimiter(',');
  flags.Add("--kinds", kinds, "types of sharding").Delimiter(',');
  flags.Add("--rounds", rounds, "timed steps");
  flags.Add("--json", json_path, "also write the results to this file");
  if (!flags.Parse(argc, argv)) return 0;

  const int cores = static_cast<int>(std::thread::hardware_concurrency());
  std::printf("%s, %d cores; median of %d steps, one thread a rank; shares are rank 0's\n",
              MachineName().c_str(), cores, rounds);
  std::printf("%-28s %5s %7s %9s %9s %9s %12s", "step", "ranks", "threads", "ms", "p10", "p90",
              "samples/s");
  for (const char* phase : kPhases) std::printf(" %11s", phase);
  std::printf("\n");
  std::vector<Json> results;
  const auto add = [&](const std::string& name, const StepShape& s, int n, int threads,
                       const Measured& measured) {
    results.push_back(Row(name, s, n, threads, measured));
    Print(results.back());
  };
  for (const int n : ranks) {
    const StepShape shape;
    StepShape whole = shape;
    whole.batch *= n;
    add(Format("one_rank_batch_x{}", n), whole, 1, cores,
        Run("table_wise", whole, 1, cores, rounds));
    for (const std::string& kind : kinds)
      add(Format("step_R{}/{}", n, kind), shape, n, 1, Run(kind, shape, n, 1, rounds));
  }
  if (!json_path.empty()) {
    std::ofstream out(json_path);
    out << Json{{"machine", MachineName()}, {"rows", results}}.dump(1) << "\n";
  }
  return 0;
}

}  // namespace
}  // namespace tessera::bench

int main(int argc, char** argv) {
  return tessera::bench::BenchMain("step_bench", tessera::bench::Main, argc, argv);
}
