#ifndef TESSERA_BENCH_FILES_GOOGLE_BENCHMARK_JSON_H_
#define TESSERA_BENCH_FILES_GOOGLE_BENCHMARK_JSON_H_
// A run in the layout of Google Benchmark's --benchmark_out, for its compare.py and what else reads
// that: {"context": {…}, "benchmarks": [{"name", "run_name", "run_type", "repetitions",
// "repetition_index", "threads", "iterations", "real_time", "cpu_time", "time_unit", …}]}. A round
// is a repetition; names are "<topic>/<case>/<threads>t/<contender>".
#include <string>

#include "bench/harness/measurement.h"

namespace tessera::bench {

std::string RunToGoogleBenchmarkJson(const BenchRun& run);

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_FILES_GOOGLE_BENCHMARK_JSON_H_
