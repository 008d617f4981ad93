#ifndef TESSERA_TESTS_BENCH_INPUTS_DISTRIBUTIONS_H_
#define TESSERA_TESTS_BENCH_INPUTS_DISTRIBUTIONS_H_
// Distributions of what was generated, to be compared by their largest distance (Kolmogorov and
// Smirnov's), and where the sources lie if they are at hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "bench/inputs/reuse_counts.h"

namespace tessera::bench {

// Largest difference of two cumulative distributions, given as the shares of their bins.
inline double KsOfShares(std::span<const double> a, std::span<const double> b) {
  const double all_a = std::accumulate(a.begin(), a.end(), 0.0);
  const double all_b = std::accumulate(b.begin(), b.end(), 0.0);
  double distance = 0, sum_a = 0, sum_b = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    sum_a += a[i] / all_a;
    sum_b += b[i] / all_b;
    distance = std::max(distance, std::abs(sum_a - sum_b));
  }
  return distance;
}

// Largest difference between the shares of `values` up to each of them and a law's.
template <typename Law>
double KsOfLengths(std::vector<int64_t> values, const Law& up_to) {
  std::sort(values.begin(), values.end());
  double distance = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    if (i + 1 < values.size() && values[i + 1] == values[i]) continue;
    const double share = static_cast<double>(i + 1) / static_cast<double>(values.size());
    distance = std::max(distance, std::abs(share - up_to(values[i])));
  }
  return distance;
}

// Shares of rows and of ids by reuse count.
struct ReuseShares {
  std::vector<double> rows = std::vector<double>(kReuseBins);
  std::vector<double> ids = std::vector<double>(kReuseBins);
};
inline ReuseShares SharesOf(std::span<const int64_t> ids) {
  std::unordered_map<int64_t, int64_t> counts;
  for (const int64_t id : ids) ++counts[id];
  ReuseShares shares;
  for (const auto& [id, count] : counts) {
    shares.rows[static_cast<size_t>(ReuseBin(count))] += 1;
    shares.ids[static_cast<size_t>(ReuseBin(count))] += static_cast<double>(count);
  }
  return shares;
}

// Folder of the real data, or "".
inline std::string DataFolder() {
  const char* folder = std::getenv("TESSERA_DATA");
  return folder == nullptr ? "" : folder;
}
constexpr const char* kNoSources = "SKIPPED: TESSERA_DATA names no folder of the sources";

}  // namespace tessera::bench
#endif  // TESSERA_TESTS_BENCH_INPUTS_DISTRIBUTIONS_H_
