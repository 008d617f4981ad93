#include "bench/harness/mann_whitney.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace tessera::bench {
namespace {

struct RankSums {
  double of_a = 0;
  double ties = 0;  // Σ(t³ − t)
};

RankSums SumRanks(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<std::pair<double, bool>> all;  // a sample, and whether it is a's
  for (const double value : a) all.emplace_back(value, true);
  for (const double value : b) all.emplace_back(value, false);
  std::sort(all.begin(), all.end());
  RankSums sums;
  for (size_t begin = 0, end = 0; begin < all.size(); begin = end) {
    double of_a = 0;
    for (end = begin; end < all.size() && all[end].first == all[begin].first; ++end)
      of_a += all[end].second;
    const auto tied = static_cast<double>(end - begin);
    sums.of_a += of_a * (static_cast<double>(begin + end) + 1) / 2;
    sums.ties += tied * tied * tied - tied;
  }
  return sums;
}

}  // namespace

double MannWhitney(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.empty() || b.empty()) return 1;
  const auto in_a = static_cast<double>(a.size()), in_b = static_cast<double>(b.size());
  const double n = in_a + in_b;
  const RankSums sums = SumRanks(a, b);
  const double variance = in_a * in_b / 12 * (n + 1 - sums.ties / (n * (n - 1)));
  if (variance <= 0) return 1;
  const double u = sums.of_a - in_a * (in_a + 1) / 2;
  const double distance = std::max(0.0, std::abs(u - in_a * in_b / 2) - 0.5);
  return std::erfc(distance / std::sqrt(variance) / std::sqrt(2.0));
}

}  // namespace tessera::bench
