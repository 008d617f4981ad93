// Every rule's fused update, sort included, beside a bare gather-modify-scatter of the same memory
// traffic over the same rows (bench/embedding/bare_loops.h), from cold caches, in one process:
//
//   bazel run -c opt //bench/optim:optim_bench -- --dim 16,128 --threads 1,2
//   bazel run -c opt //bench/optim:optim_bench -- --suite peers --threads 1 --json ours.json
//
// "share" is the median over rounds of bare seconds / our seconds; the bare loop is given the
// grouping by row for free. --suite peers has the shapes of tools/compare_peers, under its names.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>

#include "bench/embedding/workload.h"
#include "bench/harness/bench_main.h"
#include "bench/harness/cold_rounds.h"
#include "bench/harness/criteo_rows.h"
#include "runtime/check.h"

namespace tessera::bench {
namespace {

using Json = nlohmann::json;

// Every rule with an executor of its own, with the defaults of its options but a small step.
const std::vector<AnyRule>& Rules() {
  static const std::vector<AnyRule> rules = [] {
    std::vector<AnyRule> all = {Sgd{},
                                MomentumSgd{},
                                LarsSgd{},
                                Adagrad{},
                                RowwiseAdagrad{},
                                CounterRowwiseAdagrad{},
                                CowClipRowwiseAdagrad{},
                                GlobalDecayRowwiseAdagrad{},
                                RowwiseRmspropAr{},
                                Adam{},
                                PartialRowwiseAdam{},
                                Lamb{},
                                PartialRowwiseLamb{},
                                Lion{},
                                Ftrl{}};
    for (AnyRule& rule : all) SetLearningRate(rule, 1e-3f);
    return all;
  }();
  return rules;
}

const AnyRule& RuleOf(const std::string& name) {
  std::string known;
  for (const AnyRule& rule : Rules()) {
    if (name == RuleName(rule)) return rule;
    known += std::string(known.empty() ? "" : ", ") + RuleName(rule);
  }
  TESSERA_FAIL("no rule '{}'; there are {}", name, known);
}

struct Case {
  std::string name;
  Shape shape;
  const AnyRule* rule;
};

std::vector<Case> RuleCases(const std::vector<std::string>& rules, const std::vector<int64_t>& dims,
                            const Shape& shape) {
  std::vector<Case> cases;
  for (const int64_t dim : dims)
    for (const AnyRule& rule : Rules()) {
      if (!rules.empty() && std::find(rules.begin(), rules.end(), RuleName(rule)) == rules.end())
        continue;
      Shape of_dim = shape;
      of_dim.dim = dim;
      cases.push_back({Format("{}_D{}", RuleName(rule), dim), of_dim, &rule});
    }
  for (const std::string& rule : rules) RuleOf(rule);
  return cases;
}

std::vector<Case> PeerCases() {
  std::vector<Case> cases;
  const auto add = [&](const char* rule, const std::string& name, const Shape& shape) {
    cases.push_back({std::string(rule) + "_" + name, shape, &RuleOf(rule)});
  };
  const auto uniform = [](int64_t tables, int64_t rows, int64_t dim) {
    return Shape{.rows = std::vector<int64_t>(static_cast<size_t>(tables), rows), .dim = dim};
  };
  const auto criteo = [](int64_t dim) {
    return Shape{.rows = CriteoRows(1'000'000), .dim = dim, .batch = 2048, .ids = 1, .zipf = 1.05};
  };
  const int64_t kRows = 1'000'000;
  Shape zipf = uniform(8, kRows, 128);
  zipf.zipf = 1.05;
  for (const char* rule : {"rowwise_adagrad", "sgd"}) {
    add(rule, "D128", uniform(8, kRows, 128));
    add(rule, "D128_zipf1.05", zipf);
  }
  for (const int64_t dim : {16, 32, 64, 256})
    add("rowwise_adagrad", Format("D{}", dim), uniform(8, dim < 256 ? kRows : kRows / 2, dim));
  for (const char* rule : {"sgd", "adagrad", "adam"}) add(rule, "D16", uniform(8, kRows, 16));
  for (const char* rule : {"adagrad", "adam"}) add(rule, "D128_T4", uniform(4, kRows, 128));
  for (const int64_t dim : {16, 64, 128})
    add("rowwise_adagrad", Format("criteo_D{}", dim), criteo(dim));
  for (const char* rule : {"sgd", "adagrad", "adam"}) add(rule, "criteo_D64", criteo(64));
  Shape special = uniform(8, kRows, 128);
  special.pooling = PoolingType::kMean;
  add("rowwise_adagrad", "D128_mean", special);
  special.pooling = PoolingType::kSum;
  special.weighted = true;
  add("rowwise_adagrad", "D128_weighted", special);
  special.weighted = false;
  special.pooling = PoolingType::kNone;
  special.ids = 5;
  for (const char* rule : {"rowwise_adagrad", "sgd"}) add(rule, "D128_sequence", special);
  return cases;
}

// Times one case; NONE has no bare loop.
Json Run(Context& ctx, const Case& c, int rounds) {
  int element_states = 0, row_states = 0;
  for (const StateSpec& spec : RuleStates(*c.rule)) ++(spec.per_row ? row_states : element_states);
  Workload work(ctx, c.shape, element_states, row_states);
  const std::vector<UpdateTable> tables = work.Tables(*c.rule);
  const auto update = [&](int round) {
    Update(ctx, {work.Lookup(round, true), tables, round + 1});
  };
  update(0);
  std::vector<Contender> contenders = {{"ours", update}};
  const bool has_bare = c.shape.pooling != PoolingType::kNone;
  const int64_t ahead = has_bare ? BestAhead(ctx, work, *c.rule) : 0;
  if (has_bare)
    contenders.push_back(
        {"bare", [&](int round) { RunBare(ctx, work.Bare(round, *c.rule, ahead)); }});
  const std::vector<Timing> timings = TimeCold(ctx, contenders, rounds);
  const double bytes = work.UpdateBytes(*c.rule), seconds = timings[0].Median();
  const int threads = ctx.threads().threads();
  Json row = {{"name", Format("update/{}/{}t/tessera", c.name, threads)},
              {"case", c.name},
              {"threads", threads},
              {"seconds", seconds},
              {"p10", timings[0].Quantile(0.1)},
              {"p90", timings[0].Quantile(0.9)},
              {"bytes", bytes},
              {"gbps", bytes / seconds * 1e-9},
              {"ids", work.num_ids()},
              {"unique_rows", work.distinct_rows()}};
  if (has_bare) {
    row["limit_seconds"] = timings[1].Median();
    row["share"] = Share(timings[1], timings[0]);
  }
  return row;
}

void Print(const Json& row) {
  std::printf("%-40s %3d %9.2f %9.2f %9.2f %9.1f %8.1f", row["case"].get<std::string>().c_str(),
              row["threads"].get<int>(), 1e3 * row["seconds"].get<double>(),
              1e3 * row["p10"].get<double>(), 1e3 * row["p90"].get<double>(),
              1e-6 * row["bytes"].get<double>(), row["gbps"].get<double>());
  if (row.contains("share"))
    std::printf(" %9.2f %7.1f%%", 1e3 * row["limit_seconds"].get<double>(),
                100 * row["share"].get<double>());
  std::printf("\n");
  std::fflush(stdout);
}

int Main(int argc, char** argv) {
  std::vector<int64_t> dims = {16, 128};
  std::vector<std::string> rules;
  std::vector<int> threads = {1};
  Shape shape;
  int64_t num_tables = 4, num_rows = 1'000'000;
  int rounds = 9;
  bool list = false;
  std::string json_path, suite = "rules", only = ".*";
  CLI::App app("Fused updates beside the machine's gather-modify-scatter, caches cold");
  app.add_option("--suite", suite, "rules (ranked) or peers (shapes of tools/compare_peers)")
      ->check(CLI::IsMember({"rules", "peers"}))
      ->capture_default_str();
  app.add_option("--rules", rules, "names; empty: all")->delimiter(',');
  app.add_option("--dim", dims, "columns: 16, 32, 64, 128 or 256")
      ->delimiter(',')
      ->check(CLI::IsMember({16, 32, 64, 128, 256}))
      ->capture_default_str();
  app.add_option("--threads", threads, "numbers of threads")->delimiter(',')->capture_default_str();
  app.add_option("--tables", num_tables, "tables")->capture_default_str();
  app.add_option("--rows", num_rows, "rows a table")->capture_default_str();
  app.add_option("--batch", shape.batch, "bags a table")->capture_default_str();
  app.add_option("--ids", shape.ids, "ids a bag")->capture_default_str();
  app.add_option("--zipf", shape.zipf, "exponent of the ids' Zipf law; 0: uniform")
      ->capture_default_str();
  app.add_option("--only", only, "cases whose name this regular expression finds");
  app.add_flag("--list", list, "print the names of the cases, and run none");
  app.add_option("--rounds", rounds, "timed rounds")->capture_default_str();
  app.add_option("--json", json_path, "also write the results to this file");
  CLI11_PARSE(app, argc, argv);

  shape.rows.assign(static_cast<size_t>(num_tables), num_rows);
  const std::vector<Case> cases = suite == "peers" ? PeerCases() : RuleCases(rules, dims, shape);
  for (const Case& c : cases)
    if (list) std::printf("%s\n", c.name.c_str());
  if (list) return 0;
  std::printf(
      "%s, cold caches, median of %d rounds; the sort is included, the bare loop has none\n",
      MachineName().c_str(), rounds);
  std::printf("%-40s %3s %9s %9s %9s %9s %8s %9s %8s\n", "update", "thr", "ms", "p10", "p90", "MB",
              "GB/s", "bare ms", "of bare");
  std::vector<Json> results;
  for (const int n : threads)
    for (const Case& c : cases) {
      if (!std::regex_search(c.name, std::regex(only))) continue;
      Context ctx({.threads = n, .seed = 5});
      results.push_back(Run(ctx, c, rounds));
      Print(results.back());
    }
  if (suite == "rules" && results.size() > 1) {
    std::stable_sort(results.begin(), results.end(), [](const Json& a, const Json& b) {
      return a["share"].get<double>() > b["share"].get<double>();
    });
    std::printf("\nranked by share of the bare loop\n");
    for (const Json& row : results) Print(row);
  }
  if (!json_path.empty())
    std::ofstream(json_path) << Json{{"topic", "update"},
                                     {"machine", MachineName()},
                                     {"rounds", rounds},
                                     {"rows", results}}
                                    .dump(1)
                             << "\n";
  return 0;
}

}  // namespace
}  // namespace tessera::bench

int main(int argc, char** argv) {
  return tessera::bench::BenchMain("optim_bench", tessera::bench::Main, argc, argv);
}
