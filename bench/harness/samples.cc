#include "bench/harness/samples.h"

#include <algorithm>
#include <cstddef>

namespace tessera::bench {

double QuantileOf(std::vector<double> samples, double q) {
  if (samples.empty()) return 0;
  std::sort(samples.begin(), samples.end());
  const double at = q * static_cast<double>(samples.size() - 1);
  const auto below = static_cast<size_t>(at);
  const size_t above = std::min(below + 1, samples.size() - 1);
  return samples[below] + (at - static_cast<double>(below)) * (samples[above] - samples[below]);
}

double MedianOf(const std::vector<double>& samples) { return QuantileOf(samples, 0.5); }

std::vector<double> Ratios(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> ratios;
  for (size_t i = 0; i < a.size(); ++i) ratios.push_back(a[i] / b[i]);
  return ratios;
}

double MedianRatio(const std::vector<double>& a, const std::vector<double>& b) {
  return MedianOf(Ratios(a, b));
}

}  // namespace tessera::bench
