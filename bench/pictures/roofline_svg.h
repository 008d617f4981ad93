#ifndef TESSERA_BENCH_PICTURES_ROOFLINE_SVG_H_
#define TESSERA_BENCH_PICTURES_ROOFLINE_SVG_H_
// A run as points under the roofs of its machine (Williams, Waterman and Patterson, "Roofline: an
// insightful visual performance model for multicore architectures", 2009), both axes logarithmic:
// along x the operations of a row for each byte that it moves, along y its operations a second.
//
// A row's operations are its fact "operations", its bytes those of the table's GB/s. Roofs are rows
// of the topic `limits`, for each number of threads that the run has: streams (read, copy, write),
// which slope, and the most operations (fma).
#include <string>

#include "bench/harness/measurement.h"

namespace tessera::bench {

// Throws Error where no row of `run` has operations and bytes, or `limits` has not both kinds of
// roofs for a number of its threads, and says what makes them.
std::string RooflineSvg(const BenchRun& run, const BenchRun& limits);

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_PICTURES_ROOFLINE_SVG_H_
