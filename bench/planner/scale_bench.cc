// How long planning takes, and how far from its bound the plan is, by tables and ranks.
//
//   bazel run -c opt //bench/planner:scale_bench -- --sizes 200x64,1000x128 [--json OUT]
//
// Tables with rows by a power law, dims of 64 to 256, bags of 1 to 50 ids; 8 H100 a node; TorchRec's
// formulas. A plan takes the same steps on every machine, not the same time.
#include <CLI/CLI.hpp>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "bench/harness/bench_main.h"
#include "planner/planner.h"
#include "planner/shipped_topologies.h"
#include "runtime/check.h"
#include "runtime/machine.h"

namespace tessera::bench {
namespace {

using Json = nlohmann::json;
using Clock = std::chrono::steady_clock;

PlannerModel PowerLaw(int tables) {
  constexpr double kMostRows = 4e7, kExponent = 0.9;
  std::mt19937_64 random(5);
  PlannerModel model;
  model.modules = {{.path = "sparse"}};
  for (int t = 0; t < tables; ++t) {
    const std::string name = "t" + std::to_string(t);
    const auto rows = static_cast<int64_t>(kMostRows / std::pow(t + 1, kExponent)) + 100;
    model.tables.push_back({.name = name,
                            .rows = rows,
                            .dim = int64_t{64} << (random() % 3),
                            .features = {"f" + std::to_string(t)},
                            .optimizer = "rowwise_adagrad"});
    model.constraints[name].pooling_factors = {static_cast<double>(1 + random() % 50)};
  }
  return model;
}

Json Measure(int tables, int ranks) {
  const EmbeddingShardingPlanner planner(ShippedTopology("h100", ranks), PowerLaw(tables),
                                         {.option_rules = OptionRules::kBuild});
  const Clock::time_point begin = Clock::now();
  const PlanResult plan = planner.Plan();
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  return {{"tables", tables},   {"ranks", ranks},
          {"seconds", seconds}, {"options", plan.num_options},
          {"ms", plan.rating},  {"over_threshold_bound", plan.rating / plan.threshold_bound}};
}

int Main(int argc, char** argv) {
  std::vector<std::string> sizes = {"50x16", "200x64", "1000x128", "3000x512", "6400x2048"};
  std::string json_path;
  CLI::App app("Planning, by tables and ranks");
  app.add_option("--sizes", sizes, "TABLESxRANKS")->delimiter(',')->capture_default_str();
  app.add_option("--json", json_path, "also write the results to this file");
  CLI11_PARSE(app, argc, argv);
  std::printf("%s\n%8s %8s %10s %10s %12s %18s\n", MachineName().c_str(), "tables", "ranks",
              "options", "seconds", "ms a step", "of the bound");
  Json rows = Json::array();
  for (const std::string& size : sizes) {
    int tables = 0, ranks = 0;
    if (std::sscanf(size.c_str(), "%dx%d", &tables, &ranks) != 2)
      throw Error("--sizes: expected TABLESxRANKS, got " + size);
    rows.push_back(Measure(tables, ranks));
    const Json& row = rows.back();
    std::printf("%8d %8d %10d %10.2f %12.4g %18.3f\n", tables, ranks, row["options"].get<int>(),
                row["seconds"].get<double>(), row["ms"].get<double>(),
                row["over_threshold_bound"].get<double>());
    std::fflush(stdout);
  }
  if (!json_path.empty())
    std::ofstream(json_path) << Json{{"machine", MachineName()}, {"rows", rows}}.dump(1) << "\n";
  return 0;
}

}  // namespace
}  // namespace tessera::bench

int main(int argc, char** argv) {
  return tessera::bench::BenchMain("scale_bench", tessera::bench::Main, argc, argv);
}
