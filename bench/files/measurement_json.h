#ifndef TESSERA_BENCH_FILES_MEASUREMENT_JSON_H_
#define TESSERA_BENCH_FILES_MEASUREMENT_JSON_H_
// A run as a data file.
//
//   {"machine", "date", "topic", "rounds", "cold", "context": {name: text} (run_context.h),
//    "rows": [{"name": "<topic>/<case>/<threads>t",
//    "case", "threads", "contender", "seconds", "min", "p10", "p90", "p99", "spread", "samples": [seconds…],
//    "passes": [rounds…], "limit_seconds", "share", "limit_samples": [seconds…], "bytes", "gbps",
//    "items", "item", "items_per_second", "values": {axis: value}, "facts": {…}, "cold"}]}
//
// What is not known of a row is left out, and so is "passes" where all rounds are of one pass.
// "cold" is the run's where its rows agree, else each row's; without it, caches were cold.
// Medians, quantiles, shares and rates are for other programs: they follow from the samples, and
// reading computes them anew.
#include <string>

#include "bench/harness/measurement.h"

namespace tessera::bench {

// A line a row, so that two files can be told apart by diff.
std::string RunToJson(const BenchRun& run);

// `where`: the file's name. A row without limit_samples but with limit_seconds had that limit in
// each round. Throws Error, naming the place, for anything missing, unknown or of another type, for
// samples that are not above 0, and for passes whose rounds are not as many as the samples.
BenchRun RunFromJson(const std::string& text, const std::string& where);

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_FILES_MEASUREMENT_JSON_H_
