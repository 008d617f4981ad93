#ifndef TESSERA_TESTS_BENCH_HARNESS_RUN_FOR_TESTS_H_
#define TESSERA_TESTS_BENCH_HARNESS_RUN_FOR_TESTS_H_
// Runs as a topic would measure them, with made-up times.
#include <cmath>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "bench/harness/measurement.h"

namespace tessera::bench {

inline Measurement MadeUpRow(const std::string& case_name, const std::string& contender,
                             std::vector<double> seconds, std::vector<double> limit = {}) {
  Measurement row;
  row.topic = "lookup";
  row.case_name = case_name;
  row.contender = contender;
  row.seconds = std::move(seconds);
  row.limit_seconds = std::move(limit);
  return row;
}

// A row of passes that have a list of seconds each.
inline Measurement RowOfPasses(const std::string& case_name,
                               const std::vector<std::vector<double>>& passes) {
  Measurement row = MadeUpRow(case_name, "tessera", passes.at(0));
  for (size_t pass = 1; pass < passes.size(); ++pass)
    row.AddPasses(MadeUpRow(case_name, "tessera", passes[pass]));
  return row;
}

// `count` passes of three rounds of about `seconds`. Rounds of a pass spread by 1 %, and what they
// share, such as the place of their tables, by `shared`.
template <typename Draws>
std::vector<std::vector<double>> DrawnPasses(double seconds, double shared, int count,
                                             Draws& draws) {
  std::lognormal_distribution<double> of_pass(std::log(seconds), shared), of_round(0, 0.01);
  std::vector<std::vector<double>> passes;
  for (int pass = 0; pass < count; ++pass) {
    const double middle = of_pass(draws);
    passes.push_back({});
    for (int round = 0; round < 3; ++round) passes.back().push_back(middle * of_round(draws));
  }
  return passes;
}

inline BenchRun MadeUpRun(std::vector<Measurement> rows) {
  return {.machine = "A <fast> machine, 2 cores",
          .date = "2026-11-21",
          .topic = "lookup",
          .rounds = 3,
          .rows = std::move(rows)};
}

}  // namespace tessera::bench
#endif  // TESSERA_TESTS_BENCH_HARNESS_RUN_FOR_TESTS_H_
