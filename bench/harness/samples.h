#ifndef TESSERA_BENCH_HARNESS_SAMPLES_H_
#define TESSERA_BENCH_HARNESS_SAMPLES_H_
// Statistics of repeated timings.
#include <vector>

namespace tessera::bench {

// The q-quantile, interpolated between neighbours; 0 of no samples. REQUIRES: 0 ≤ q ≤ 1.
double QuantileOf(std::vector<double> samples, double q);
double MedianOf(const std::vector<double>& samples);

// a[i] / b[i]. REQUIRES: as many of each.
std::vector<double> Ratios(const std::vector<double>& a, const std::vector<double>& b);
// Their median; 0 where there are none.
double MedianRatio(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_HARNESS_SAMPLES_H_
