#include "bench/harness/mann_whitney.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>

namespace tessera::bench {
namespace {

// The pairs in which a is larger; a tie counts half.
double CountU(const std::vector<double>& a, const std::vector<double>& b) {
  double u = 0;
  for (const double x : a)
    for (const double y : b) u += x > y ? 1 : x == y ? 0.5 : 0;
  return u;
}

// The share of all ways to split the samples in two that are as far apart as these.
double ExactP(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> all = a;
  all.insert(all.end(), b.begin(), b.end());
  const double middle = static_cast<double>(a.size() * b.size()) / 2;
  const double distance = std::abs(CountU(a, b) - middle);
  int ways = 0, as_far = 0;
  for (unsigned deal = 0; deal < 1u << all.size(); ++deal) {
    if (static_cast<size_t>(std::popcount(deal)) != a.size()) continue;
    std::vector<double> left, right;
    for (size_t i = 0; i < all.size(); ++i) (deal >> i & 1 ? left : right).push_back(all[i]);
    ++ways;
    as_far += std::abs(CountU(left, right) - middle) >= distance - 1e-9;
  }
  return static_cast<double>(as_far) / ways;
}

TEST(MannWhitneyTest, IsTheExactTestForFewSamples) {
  std::mt19937 random(3);
  for (int trial = 0; trial < 40; ++trial) {
    std::vector<double> a, b;
    const bool ties = trial % 2 == 1;
    for (int i = 0; i < 7; ++i) {
      a.push_back(static_cast<double>(random() % (ties ? 5 : 100000)));
      b.push_back(static_cast<double>(random() % (ties ? 5 : 100000)) + trial % 5);
    }
    if (trial % 3 == 0) b.resize(4);
    EXPECT_NEAR(MannWhitney(a, b), ExactP(a, b), 1e-12) << "trial " << trial;
  }
}

TEST(MannWhitneyTest, KnowsNoSidesAndRanksOnly) {
  const std::vector<double> a = {1, 2, 3, 4, 5, 6, 7}, b = {8, 9, 10, 11, 12, 13, 1000};
  EXPECT_EQ(MannWhitney(a, b), MannWhitney(b, a));
  EXPECT_EQ(MannWhitney(a, b), MannWhitney({-7, -6, -5, -4, -3, -2, -1}, b));
  EXPECT_LT(MannWhitney(a, b), 0.01);
}

TEST(MannWhitneyTest, FewOrEqualSamplesShowNothing) {
  EXPECT_EQ(MannWhitney({}, {1, 2}), 1);
  EXPECT_EQ(MannWhitney({3, 3, 3, 3, 3, 3, 3}, {3, 3, 3, 3, 3, 3, 3}), 1);
  EXPECT_NEAR(MannWhitney({1, 2, 3}, {4, 5, 6}), 0.1, 1e-12);
}

TEST(MannWhitneyTest, FiveSamplesASideCanDecideAndFourCannot) {
  EXPECT_NEAR(MannWhitney({1, 2, 3, 4, 5}, {6, 7, 8, 9, 10}), 2.0 / 252, 1e-12);
  EXPECT_NEAR(LeastP(5, 5), 2.0 / 252, 1e-12);
  EXPECT_NEAR(LeastP(4, 4), 2.0 / 70, 1e-12);
  EXPECT_EQ(LeastP(1, 1), 1);
  EXPECT_EQ(LeastP(0, 9), 1);
}

// The interval is that of the test: moved back by a shift inside it, the sides cannot be told
// apart; by one outside, they can.
TEST(HodgesLehmannTest, TheIntervalIsWhatTheTestDoesNotRefuse) {
  std::mt19937 random(7);
  std::normal_distribution<double> normal;
  for (const size_t count : {5, 9, 15, 30}) {
    std::vector<double> a, b, differences;
    for (size_t i = 0; i < count; ++i) a.push_back(normal(random));
    for (size_t i = 0; i < count + 1; ++i) b.push_back(1 + normal(random));
    for (const double x : a)
      for (const double y : b) differences.push_back(y - x);
    std::sort(differences.begin(), differences.end());
    const auto p_at = [&](double shift) {
      std::vector<double> back = b;
      for (double& y : back) y -= shift;
      return MannWhitney(a, back);
    };
    const Shift shift = HodgesLehmann(a, b, 0.01);
    const size_t middle = differences.size() / 2;  // of an even number
    EXPECT_NEAR(shift.estimate, (differences[middle - 1] + differences[middle]) / 2, 1e-12);
    EXPECT_GE(p_at(shift.low + 1e-9), 0.01) << count;
    EXPECT_GE(p_at(shift.high - 1e-9), 0.01) << count;
    EXPECT_LT(p_at(shift.low - 1e-9), 0.01) << count;
    EXPECT_LT(p_at(shift.high + 1e-9), 0.01) << count;
  }
}

TEST(HodgesLehmannTest, FewSamplesBoundNothing) {
  const Shift shift = HodgesLehmann({1, 2, 3}, {4, 5, 6}, 0.01);
  EXPECT_EQ(shift.estimate, 3);
  EXPECT_EQ(shift.low, -std::numeric_limits<double>::infinity());
  EXPECT_EQ(shift.high, std::numeric_limits<double>::infinity());
}

TEST(MannWhitneyTest, TheApproximationGoesOnWhereTheExactTestEnds) {
  std::mt19937 random(5);
  const auto draw = [&](size_t count, double shift) {
    std::vector<double> samples;
    for (size_t i = 0; i < count; ++i)
      samples.push_back(static_cast<double>(random() % 1000) + shift);
    return samples;
  };
  for (const double shift : {0.0, 100.0, 250.0}) {
    std::vector<double> a = draw(25, 0), b = draw(25, shift);
    const double exact = MannWhitney(a, b);
    a.push_back(500);  // a sample more on both sides: the normal approximation
    b.push_back(500);
    EXPECT_NEAR(MannWhitney(a, b), exact, 0.03) << shift;
  }
}

}  // namespace
}  // namespace tessera::bench
