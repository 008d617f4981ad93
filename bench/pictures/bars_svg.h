#ifndef TESSERA_BENCH_PICTURES_BARS_SVG_H_
#define TESSERA_BENCH_PICTURES_BARS_SVG_H_
// A run as bars: a group for each case and number of threads, a bar for each contender. Cases whose
// limit is known are drawn as shares of it, with the limit as a line at 100 %; those with a score
// (measurement.h) as the score, with a mark at the best possible; the others below, as the time of
// a call. A thin stroke is the range from the 10th to the 90th percentile.
#include <string>

#include "bench/harness/measurement.h"

namespace tessera::bench {

std::string BarsSvg(const BenchRun& run);

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_PICTURES_BARS_SVG_H_
