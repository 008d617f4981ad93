#ifndef TESSERA_BENCH_PICTURES_SWEEP_SVG_H_
#define TESSERA_BENCH_PICTURES_SWEEP_SVG_H_
// A run as lines: along x the axis of numbers with the most values, a line for each combination of
// the other axes, the threads and the contenders, the limit dashed in the same color.
//
// y is GB/s where all rows count bytes, else items a second, else the time of a call. An axis whose
// numbers span more than a factor of ten is logarithmic (rates always begin at 0).
#include <string>

#include "bench/harness/measurement.h"

namespace tessera::bench {

// Whether lines say more than bars: an axis of numbers has three values or more, and the rows are
// the product of the axes' values.
bool IsSweep(const BenchRun& run);

// REQUIRES: IsSweep(run).
std::string SweepSvg(const BenchRun& run);

// SweepSvg for a sweep without scores, BarsSvg for anything else. Throws Error for a run without
// rows.
std::string RunToSvg(const BenchRun& run);

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_PICTURES_SWEEP_SVG_H_
