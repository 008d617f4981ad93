// Bus bandwidth of each collective by the size of its messages, beside a plain copy of as many bytes
// by every rank at the same time. Ranks are threads, or under mpirun processes:
//
//   bazel run -c opt //bench/comm:comm_bench -- --ranks 2,4
//   mpirun -n 4 bazel-bin/bench/comm/comm_bench --json mpi.json
//
// "size" is the bytes of what a rank gives or gets, whichever is larger. Bus bandwidth is what a
// rank's link would have to carry: size/time × (R − 1)/R, twice that for an all-reduce, and
// size/time for a broadcast. A time is the slowest rank's, from a barrier on. Threads hand tensors
// over without a copy: their all-to-all and broadcast take the same time for any size.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "bench/harness/bench_main.h"
#include "bench/harness/cold_rounds.h"
#include "comm/local_communicator.h"
#include "comm/mpi_communicator.h"
#include "runtime/check.h"

namespace tessera::bench {
namespace {

using Json = nlohmann::json;

struct Options {
  std::vector<int> ranks = {2, 4};
  std::vector<int64_t> sizes = {4 << 10, 64 << 10, 1 << 20, 16 << 20};
  int rounds = 15;
  bool comm_thread = true;
  std::string json_path;
};

// What a collective of `bytes` a rank does, and how much of them crosses a rank's link.
struct Collective {
  const char* name;
  double (*link_share)(double ranks);
  Tensor (*run)(Communicator& comm, Context& ctx, const Tensor& data);
};

double OthersShare(double ranks) { return (ranks - 1) / ranks; }

// `data`: f32, all 1, of a number of elements that the ranks divide.
Tensor MyBlock(Communicator& comm, const Tensor& data) {
  return data.Narrow(0, 0, data.numel() / comm.size());
}
Tensor Blocks(Communicator& comm, const Tensor& data) {
  return data.Reshape({comm.size(), data.numel() / comm.size()});
}

const std::vector<Collective>& Collectives() {
  static const std::vector<Collective> all = {
      {"all_to_all", OthersShare,
       [](Communicator& comm, Context& ctx, const Tensor& data) {
         const Tensor blocks = Blocks(comm, data);
         std::vector<Tensor> send;
         for (int r = 0; r < comm.size(); ++r)
           send.push_back(blocks.Rows(r, r + 1).Reshape({blocks.dim(1)}));
         const std::vector<int64_t> counts(send.size(), blocks.dim(1));
         return comm.AllToAllV(ctx, std::move(send), counts, "bench").Wait().back();
       }},
      {"all_gather", OthersShare,
       [](Communicator& comm, Context& ctx, const Tensor& data) {
         return comm.AllGather(ctx, MyBlock(comm, data), "bench").Wait();
       }},
      {"reduce_scatter", OthersShare,
       [](Communicator& comm, Context& ctx, const Tensor& data) {
         return comm.ReduceScatter(ctx, Blocks(comm, data), "bench").Wait();
       }},
      {"all_reduce", [](double ranks) { return 2 * OthersShare(ranks); },
       [](Communicator& comm, Context& ctx, const Tensor& data) {
         return comm.AllReduce(ctx, data, ReduceOp::kSum, "bench").Wait();
       }},
      {"broadcast", [](double ranks) { return ranks > 1 ? 1.0 : 0.0; },
       [](Communicator& comm, Context& ctx, const Tensor& data) {
         return comm.Broadcast(ctx, data, 0, "bench").Wait();
       }},
  };
  return all;
}

void CheckResult(Communicator& comm, const Collective& c, const Tensor& result) {
  const std::string name = c.name;
  const float sum = static_cast<float>(comm.size());
  const float expected = name == "reduce_scatter" || name == "all_reduce" ? sum : 1.0f;
  for (const float value : result.ToVector<float>())
    TESSERA_CHECK_EQ(value, expected, "result of {}", name);
}

// Seconds of the slowest rank, the median over rounds.
double Time(Communicator& comm, Context& ctx, int rounds, const std::function<void()>& run) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> seconds;
  for (int i = 0; i < rounds; ++i) {
    comm.Barrier(ctx, "begin").Wait();
    const auto begin = Clock::now();
    run();
    seconds.push_back(std::chrono::duration<double>(Clock::now() - begin).count());
  }
  const Tensor mine = Tensor::From(ctx, seconds);
  std::vector<double> slowest =
      comm.AllReduce(ctx, mine, ReduceOp::kMax, "times").Wait().ToVector<double>();
  std::nth_element(slowest.begin(), slowest.begin() + rounds / 2, slowest.end());
  return slowest[static_cast<size_t>(rounds / 2)];
}

Json Run(Communicator& comm, Context& ctx, const Collective& c, int64_t size, int rounds) {
  const int64_t step = 4 * comm.size(), n = (size + step - 1) / step * comm.size();
  const Tensor data = Tensor::Full(ctx, {n}, 1), copy = Tensor::Empty(ctx, {n});
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

// Every rank; the first prints.
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
  CLI::App app("Bus bandwidth of collectives, ranks as threads or under mpirun");
  app.add_option("--ranks", options.ranks, "numbers of ranks as threads; mpirun says its own")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--sizes", options.sizes, "bytes a rank")->delimiter(',')->capture_default_str();
  app.add_option("--rounds", options.rounds, "timed rounds")->capture_default_str();
  app.add_option("--comm-thread", options.comm_thread, "a thread of its own for MPI")
      ->capture_default_str();
  app.add_option("--json", options.json_path, "also write the results to this file");
  CLI11_PARSE(app, argc, argv);

  std::vector<Json> results;
  if (UnderMpirun())
    return RunMpiRank({.comm_thread = options.comm_thread}, [&](Communicator& comm) {
      if (IsLeader(comm)) PrintHead();
      RunAll(comm, options, results);
      if (IsLeader(comm)) Write(options, results);
      return 0;
    });
  PrintHead();
  for (const int ranks : options.ranks)
    RunLocalRanks(ranks, [&](Communicator& comm) { RunAll(comm, options, results); });
  Write(options, results);
  return 0;
}

}  // namespace
}  // namespace tessera::bench

int main(int argc, char** argv) {
  return tessera::bench::BenchMain("comm_bench", tessera::bench::Main, argc, argv);
}
