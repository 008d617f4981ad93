#ifndef TESSERA_BENCH_PICTURES_COMPARE_SVG_H_
#define TESSERA_BENCH_PICTURES_COMPARE_SVG_H_
// Changes between two runs: a line a row from the low to the high end of the interval of its
// speed, new over old, with a dot at the estimate, about a line at 1. The color is the verdict's.
#include <string>

#include "bench/harness/measurement.h"

namespace tessera::bench {

// Throws Error for runs of different topics, and for runs that have no row in common.
std::string ComparisonSvg(const BenchRun& old_run, const BenchRun& new_run);

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_PICTURES_COMPARE_SVG_H_
