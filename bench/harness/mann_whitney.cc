#include "bench/harness/mann_whitney.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

namespace tessera::bench {
namespace {

struct RankSums {
  double of_a = 0;
  double ties = 0;                  // Σ(t³ − t)
  std::vector<int64_t> twice = {};  // twice the rank of each sample, ascending: whole with ties
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
    sums.twice.resize(end, static_cast<int64_t>(begin + end + 1));
    sums.ties += tied * tied * tied - tied;
  }
  return sums;
}

// ways[s]: in how many ways `chosen` of the ranks (doubled) add up to s. At most 2^50 ways, which
// doubles count exactly.
std::vector<double> WaysToSum(const std::vector<int64_t>& ranks, size_t chosen) {
  int64_t all = 0;
  for (const int64_t rank : ranks) all += rank;
  std::vector<std::vector<double>> ways(chosen + 1,
                                        std::vector<double>(static_cast<size_t>(all) + 1));
  ways[0][0] = 1;
  for (const int64_t rank : ranks)
    for (size_t k = chosen; k > 0; --k)
      for (int64_t sum = all; sum >= rank; --sum)
        ways[k][static_cast<size_t>(sum)] += ways[k - 1][static_cast<size_t>(sum - rank)];
  return ways[chosen];
}

double ExactP(const RankSums& sums, size_t in_a) {
  const std::vector<double> ways = WaysToSum(sums.twice, in_a);
  const double middle = static_cast<double>(in_a * (sums.twice.size() + 1));  // of doubled sums
  const double distance = std::abs(2 * sums.of_a - middle);
  double all = 0, as_far = 0;
  for (size_t sum = 0; sum < ways.size(); ++sum) {
    all += ways[sum];
    if (std::abs(static_cast<double>(sum) - middle) >= distance) as_far += ways[sum];
  }
  return as_far / all;
}

}  // namespace

double MannWhitney(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.empty() || b.empty()) return 1;
  const auto in_a = static_cast<double>(a.size()), in_b = static_cast<double>(b.size());
  const double n = in_a + in_b;
  const RankSums sums = SumRanks(a, b);
  if (a.size() + b.size() <= kExactSamples) return ExactP(sums, a.size());
  const double variance = in_a * in_b / 12 * (n + 1 - sums.ties / (n * (n - 1)));
  if (variance <= 0) return 1;
  const double u = sums.of_a - in_a * (in_a + 1) / 2;
  const double distance = std::max(0.0, std::abs(u - in_a * in_b / 2) - 0.5);
  return std::erfc(distance / std::sqrt(variance) / std::sqrt(2.0));
}

double LeastP(size_t a, size_t b) {
  if (a == 0 || b == 0) return 1;
  double ways = 1;  // a + b over a
  for (size_t i = 1; i <= a; ++i) ways = ways * static_cast<double>(b + i) / static_cast<double>(i);
  return std::min(1.0, 2 / ways);
}

}  // namespace tessera::bench
