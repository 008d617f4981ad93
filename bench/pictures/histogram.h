#ifndef TESSERA_BENCH_PICTURES_HISTOGRAM_H_
#define TESSERA_BENCH_PICTURES_HISTOGRAM_H_
// How samples of time lie: bins of equal width from the least on, by the rule of Freedman and
// Diaconis ("On the histogram as a density estimator", 1981: twice the interquartile range over the
// cube root of the number of samples), and at most 20 of them. The last one has all that is above,
// so that one slow call does not hide how the others lie.
#include <cstdint>
#include <string>
#include <vector>

#include "bench/harness/measurement.h"

namespace tessera::bench {

struct HistogramBin {
  double low = 0;  // the first one's: the least sample
  int64_t count = 0;
};

// Ends with a bin that is not empty. One bin where the middle half of the samples is the same.
std::vector<HistogramBin> HistogramOf(const std::vector<double>& seconds);

// A heading and bars of the row's samples, at most 100 columns wide.
std::string HistogramText(const Measurement& row);

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_PICTURES_HISTOGRAM_H_
