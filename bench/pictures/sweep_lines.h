#ifndef TESSERA_BENCH_PICTURES_SWEEP_LINES_H_
#define TESSERA_BENCH_PICTURES_SWEEP_LINES_H_
// A run taken apart into lines over one axis: what a picture of a sweep draws.
#include <optional>
#include <string>
#include <vector>

#include "bench/harness/measurement.h"

namespace tessera::bench {

struct SweepPoint {
  double x = 0;
  std::string x_text;  // as the flag had it
  const Measurement* row = nullptr;
};

struct SweepLine {
  std::string name;                // "skew=uniform, 2 threads, tessera": what sets it apart
  std::vector<SweepPoint> points;  // by ascending x
};

struct SweepLines {
  std::string x_axis;
  std::vector<SweepLine> lines;
};

// Nothing where no axis of numbers has three values, or where the rows are not the product of the
// values of their axes. The lines point into `run`.
std::optional<SweepLines> TakeApart(const BenchRun& run);

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_PICTURES_SWEEP_LINES_H_
