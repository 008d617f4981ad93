#ifndef TESSERA_TESTS_BENCH_HARNESS_RUN_FOR_TESTS_H_
#define TESSERA_TESTS_BENCH_HARNESS_RUN_FOR_TESTS_H_
// Runs as a topic would measure them, with made-up times.
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

inline BenchRun MadeUpRun(std::vector<Measurement> rows) {
  return {.machine = "A <fast> machine, 2 cores",
          .date = "2026-11-21",
          .topic = "lookup",
          .rounds = 3,
          .cold = true,
          .rows = std::move(rows)};
}

}  // namespace tessera::bench
#endif  // TESSERA_TESTS_BENCH_HARNESS_RUN_FOR_TESTS_H_
