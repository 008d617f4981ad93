#include "bench/harness/mann_whitney.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <mutex>
#include <tuple>
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

double NormalP(const RankSums& sums, double in_a, double in_b) {
  const double n = in_a + in_b;
  const double variance = in_a * in_b / 12 * (n + 1 - sums.ties / (n * (n - 1)));
  if (variance <= 0) return 1;
  const double u = sums.of_a - in_a * (in_a + 1) / 2;
  const double distance = std::max(0.0, std::abs(u - in_a * in_b / 2) - 0.5);
  return std::erfc(distance / std::sqrt(variance) / std::sqrt(2.0));
}

double POf(const RankSums& sums, size_t in_a, size_t in_b) {
  if (in_a + in_b <= kExactSamples) return ExactP(sums, in_a);
  return NormalP(sums, static_cast<double>(in_a), static_cast<double>(in_b));
}

int64_t FindLeastKeptU(size_t in_a, size_t in_b, double significance) {
  RankSums sums;
  for (size_t rank = 1; rank <= in_a + in_b; ++rank)
    sums.twice.push_back(static_cast<int64_t>(2 * rank));
  int64_t refused = -1, kept = static_cast<int64_t>(in_a * in_b / 2);
  while (kept - refused > 1) {
    const int64_t u = refused + (kept - refused) / 2;
    sums.of_a = static_cast<double>(u) + static_cast<double>(in_a * (in_a + 1)) / 2;
    (POf(sums, in_a, in_b) < significance ? refused : kept) = u;
  }
  return kept;
}

// The least U whose p is not below the significance, where no samples are tied. It is found once
// for each number of samples, as an exact p takes milliseconds.
int64_t LeastKeptU(size_t in_a, size_t in_b, double significance) {
  static std::mutex mutex;
  static std::map<std::tuple<size_t, size_t, double>, int64_t> known;
  const std::lock_guard lock(mutex);
  const auto [at, is_new] = known.try_emplace({in_a, in_b, significance});
  if (is_new) at->second = FindLeastKeptU(in_a, in_b, significance);
  return at->second;
}

// How many of the differences b[j] − a[i] are at most `shift`. REQUIRES: both ascending.
int64_t DifferencesUpTo(const std::vector<double>& a, const std::vector<double>& b, double shift) {
  int64_t count = 0;
  size_t above = 0;  // the first of a whose difference is not above the shift
  for (const double value : b) {
    while (above < a.size() && value - a[above] > shift) ++above;
    count += static_cast<int64_t>(a.size() - above);
  }
  return count;
}

// The k-th least difference, from 1, by bisection. REQUIRES: both ascending.
double KthDifference(const std::vector<double>& a, const std::vector<double>& b, int64_t k) {
  double below = b.front() - a.back(), kth = b.back() - a.front();
  if (DifferencesUpTo(a, b, below) >= k) return below;
  while (true) {
    const double middle = below + (kth - below) / 2;
    if (middle <= below || middle >= kth) return kth;
    (DifferencesUpTo(a, b, middle) >= k ? kth : below) = middle;
  }
}

}  // namespace

double MannWhitney(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.empty() || b.empty()) return 1;
  return POf(SumRanks(a, b), a.size(), b.size());
}

Shift HodgesLehmann(std::vector<double> a, std::vector<double> b, double significance) {
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  const auto pairs = static_cast<int64_t>(a.size() * b.size());
  const auto kth = [&](int64_t k) { return KthDifference(a, b, k); };
  const double infinity = std::numeric_limits<double>::infinity();
  Shift shift{(kth((pairs + 1) / 2) + kth(pairs / 2 + 1)) / 2, -infinity, infinity};
  if (LeastP(a.size(), b.size()) >= significance) return shift;
  const int64_t k = LeastKeptU(a.size(), b.size(), significance);
  shift.low = kth(k);
  shift.high = kth(pairs - k + 1);
  return shift;
}

double LeastP(size_t a, size_t b) {
  if (a == 0 || b == 0) return 1;
  double ways = 1;  // a + b over a
  for (size_t i = 1; i <= a; ++i) ways = ways * static_cast<double>(b + i) / static_cast<double>(i);
  return std::min(1.0, 2 / ways);
}

}  // namespace tessera::bench
