// Lookup and update of table-batched embeddings beside the bare memory loops of bare_loops.h, over
// the same ids, from cold caches, in one process:
//
//   bazel run -c opt //bench/embedding:embedding_bench -- --dim 128 --rows 1000000 --tables 8
//   --batch 4096 --pooling 20
//
// "share" is the median over rounds of bare seconds / our seconds. Results are checked once before
// anything is timed.
#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

#include "bench/embedding/workload.h"
#include "bench/harness/bench_main.h"
#include "bench/harness/cold_rounds.h"

namespace tessera::bench {
namespace {

void CheckLookup(Context& ctx, Workload& work) {
  RunBare(ctx, work.Gather(0));
  const Tensor expected = work.output().Clone(ctx);
  Lookup(ctx, work.Lookup(0, false));
  const auto a = expected.span<float>(), b = work.output().span<float>();
  for (size_t i = 0; i < a.size(); ++i)
    TESSERA_CHECK(std::abs(a[i] - b[i]) < 1e-5f, "lookup: output {} is {}, the bare loop has {}", i,
                  b[i], a[i]);
}

void Report(const Timing& bare, const Timing& ours, double bytes, nlohmann::json& json) {
  const double share = Share(bare, ours);
  std::printf("%-24s %9.2f %9.2f %9.2f %8.1f %7.1f%% %7.2fx\n", ours.name.c_str(),
              1e3 * ours.Median(), 1e3 * ours.Quantile(0.1), 1e3 * ours.Quantile(0.9),
              bytes / ours.Median() * 1e-9, 100 * share, 1 / share);
  json[ours.name] = {{"seconds", ours.Median()},      {"p10", ours.Quantile(0.1)},
                     {"p90", ours.Quantile(0.9)},     {"gbps", bytes / ours.Median() * 1e-9},
                     {"bare_seconds", bare.Median()}, {"share", share}};
}

int Main(int argc, char** argv) {
  Shape shape;
  int64_t num_tables = 8, num_rows = 1'000'000;
  int threads = 0, rounds = 15;
  std::string json_path;
  CLI::App app("Lookup and update beside the machine's bare loops, caches cold");
  app.add_option("--tables", num_tables, "tables")->capture_default_str();
  app.add_option("--rows", num_rows, "rows a table")->capture_default_str();
  app.add_option("--dim", shape.dim, "columns: 16, 32, 64, 128 or 256")
      ->check(CLI::IsMember({16, 32, 64, 128, 256}))
      ->capture_default_str();
  app.add_option("--batch", shape.batch, "bags a table")->capture_default_str();
  app.add_option("--pooling", shape.ids, "ids a bag")->capture_default_str();
  app.add_option("--threads", threads, "threads (0: all cores)")->capture_default_str();
  app.add_option("--rounds", rounds, "timed rounds")->capture_default_str();
  app.add_option("--json", json_path, "also write the results to this file");
  CLI11_PARSE(app, argc, argv);

  Context ctx({.threads = threads, .seed = 5});
  shape.rows.assign(static_cast<size_t>(num_tables), num_rows);
  Workload work(ctx, shape, 0, 1);
  CheckLookup(ctx, work);
  const AnyRule rule = RowwiseAdagrad{.lr = 1e-3f};
  const int64_t ahead = BestAhead(ctx, work, rule);
  const std::vector<UpdateTable> tables = work.Tables(rule);

  const std::vector<Timing> t =
      TimeCold(ctx,
               {{"bare gather", [&](int round) { RunBare(ctx, work.Gather(round)); }},
                {"lookup", [&](int round) { Lookup(ctx, work.Lookup(round, false)); }},
                {"bare update", [&](int round) { RunBare(ctx, work.Bare(round, rule, ahead)); }},
                {"rowwise_adagrad",
                 [&](int round) {
                   Update(ctx, {work.Lookup(round, true), tables, 1});
                 }}},
               rounds);

  std::printf(
      "%s; %d threads, %lld tables x %lld rows x %lld, batch %lld, %lld ids a bag, cold, %d "
      "rounds\n",
      MachineName().c_str(), ctx.threads().threads(), static_cast<long long>(num_tables),
      static_cast<long long>(num_rows), static_cast<long long>(shape.dim),
      static_cast<long long>(shape.batch), static_cast<long long>(shape.ids), rounds);
  std::printf("%-24s %9s %9s %9s %8s %8s %8s\n", "", "ms", "p10", "p90", "GB/s", "of bare",
              "bare is");
  nlohmann::json json = {
      {"machine", MachineName()}, {"threads", ctx.threads().threads()}, {"rounds", rounds}};
  Report(t[0], t[0], work.LookupBytes(), json);
  Report(t[0], t[1], work.LookupBytes(), json);
  Report(t[2], t[2], work.UpdateBytes(rule), json);
  Report(t[2], t[3], work.UpdateBytes(rule), json);
  if (!json_path.empty()) std::ofstream(json_path) << json.dump(1) << "\n";
  return 0;
}

}  // namespace
}  // namespace tessera::bench

int main(int argc, char** argv) {
  return tessera::bench::BenchMain("embedding_bench", tessera::bench::Main, argc, argv);
}
