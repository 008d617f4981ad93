// Bus bandwidth of each collective between processes by the size of its messages (collectives.h),
// beside a plain copy of as many bytes by every rank at the same time. Ranks as threads: tessera
// bench comm.
//
//   mpirun -n 4 bazel-bin/bench/comm/comm_bench --json mpi.json
//
// A time is the slowest rank's, from a barrier on.
#include <cstdio>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>

#include "bench/comm/collectives.h"
#include "bench/harness/bench_main.h"
#include "bench/harness/cold_rounds.h"
#include "bench/harness/samples.h"
#include "comm/mpi/mpi_communicator.h"
#include "runtime/base/check.h"
#include "runtime/flags/flags.h"
#include "runtime/tensor.h"

namespace tessera::bench {
namespace {

using Json = nlohmann::json;

struct Options {
  std::vector<int64_t> sizes = {4 << 10, 64 << 10, 1 << 20, 16 << 20};
  int rounds = 15;
  bool comm_thread = true;
  std::string json_path;
};

// Seconds of the slowest rank, the median over rounds.
double Time(Communicator& comm, Context& ctx, int rounds, const std::function<void()>& run) {
  std::vector<double> seconds;
  for (int i = 0; i < rounds; ++i) {
    comm.Barrier(ctx, "begin").Wait();
    seconds.push_back(SecondsOf(run));
  }
  const Tensor mine = Tensor::From(ctx, seconds);
  return MedianOf(comm.AllReduce(ctx, mine, ReduceOp::kMax, "times").Wait().ToVector<double>());
}

Json Run(Communicator& comm, Context& ctx, const Collective& c, int64_t size, int rounds) {
  const Tensor data = MakeMessage(comm, ctx, size), copy = Tensor::Empty(ctx, data.shape());
  CheckResult(comm, c, c.run(comm, ctx, data));
  const double seconds = Time(comm, ctx, rounds, [&] { c.run(comm, ctx, data); });
  const double copied = Time(comm, ctx, rounds, [&] { copy.CopyFrom(ctx, data); });
  const double bytes = static_cast<double>(data.nbytes());
  const double bus = bytes * c.link_share(comm.size()) / seconds;
  return {{"collective", c.name},
          {"backend", std::string(comm.backend())},
          {"ranks", comm.size()},
          {"bytes", data.nbytes()},
          {"seconds", seconds},
          {"bus_gbps", bus * 1e-9},
          {"copy_gbps", bytes / copied * 1e-9},
          {"share", bus * copied / bytes}};
}

void Print(const Json& row) {
  std::printf("%-15s %-6s %5d %11.1f %11.1f %9.2f %10.2f %8.1f%%\n",
              row["collective"].get<std::string>().c_str(),
              row["backend"].get<std::string>().c_str(), row["ranks"].get<int>(),
              row["bytes"].get<double>() / 1024, 1e6 * row["seconds"].get<double>(),
              row["bus_gbps"].get<double>(), row["copy_gbps"].get<double>(),
              100 * row["share"].get<double>());
  std::fflush(stdout);
}

// Every rank measures; the first one prints.
void RunAll(Communicator& comm, const Options& options, std::vector<Json>& results) {
  Context ctx({.threads = 1});
  for (const Collective& c : Collectives())
    for (const int64_t size : options.sizes) {
      const Json row = Run(comm, ctx, c, size, options.rounds);
      if (!IsLeader(comm)) continue;
      Print(row);
      results.push_back(row);
    }
}

void PrintHead() {
  std::printf("%s; the slowest rank, median of rounds; copy: of as many bytes by every rank\n",
              MachineName().c_str());
  std::printf("%-15s %-6s %5s %11s %11s %9s %10s %9s\n", "collective", "by", "ranks", "KiB", "us",
              "bus GB/s", "copy GB/s", "of copy");
}

void Write(const Options& options, const std::vector<Json>& results) {
  if (options.json_path.empty()) return;
  std::ofstream(options.json_path) << Json{{"topic", "comm"},
                                           {"machine", MachineName()},
                                           {"rounds", options.rounds},
                                           {"rows", results}}
                                          .dump(1)
                                   << "\n";
}

int Main(int argc, char** argv) {
  Options options;
  internal::ProgramFlags flags("Bus bandwidth of collectives, under mpirun");
  flags.Add("--sizes", options.sizes, "bytes a rank").Delimiter(',');
  flags.Add("--rounds", options.rounds, "timed rounds").Within(internal::NumbersFrom(1));
  flags.Add("!--no-comm-thread", options.comm_thread, "no thread of its own for MPI");
  flags.Add("--json", options.json_path, "also write the results to this file");
  if (!flags.Parse(argc, argv)) return 0;

  if (!UnderMpirun())
    throw Error(
        "mpirun starts the ranks, as in: mpirun -n 4 comm_bench; for ranks that are "
        "threads: tessera bench comm");
  std::vector<Json> results;
  return RunMpiRank({.comm_thread = options.comm_thread}, [&](Communicator& comm) {
    if (IsLeader(comm)) PrintHead();
    RunAll(comm, options, results);
    if (IsLeader(comm)) Write(options, results);
    return 0;
  });
}

}  // namespace
}  // namespace tessera::bench

int main(int argc, char** argv) {
  return tessera::bench::BenchMain("comm_bench", tessera::bench::Main, argc, argv);
}
