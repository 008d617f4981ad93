// Logarithms of metrics have the same bits with every C library.
#include "metrics/state/log2.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "metrics/state/cross_entropy.h"

namespace tessera {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(Log2Of, IsNearTheLogarithm) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 100'000; ++i) {
    const double x = std::ldexp(1 + std::generate_canonical<double, 53>(random),
                                static_cast<int>(random() % 2000) - 1000);
    EXPECT_NEAR(Log2Of(x), std::log2(x), 1e-15 * std::max(1.0, std::abs(std::log2(x)))) << x;
  }
  EXPECT_NEAR(Log2Of(5e-324), -1074, 1e-12);
}

TEST(Log2Of, IsExactWhereTheNumberIsSpecial) {
  for (int n = -1022; n < 1024; ++n) EXPECT_EQ(Log2Of(std::ldexp(1.0, n)), n);
  EXPECT_EQ(Log2Of(0), -kInfinity);
  EXPECT_EQ(Log2Of(kInfinity), kInfinity);
  EXPECT_TRUE(std::isnan(Log2Of(-1)));
  EXPECT_TRUE(std::isnan(Log2Of(std::nan(""))));
}

// The C library's log2 has other bits for some of these.
TEST(Log2Of, IsThatOfTheCrossEntropy) {
  for (int i = 1; i < 10'000; ++i) {
    const double p = i / 10'000.0;
    CrossEntropySums clicked, passed;
    clicked.Add(p, 1, 1, 1e-12);
    passed.Add(p, 0, 1, 1e-12);
    EXPECT_EQ(clicked.positive, -Log2Of(p));
    EXPECT_EQ(passed.negative, -Log2Of(1 - p));
    EXPECT_EQ(clicked.Entropy(0.25), -Log2Of(0.75));
  }
}

}  // namespace
}  // namespace tessera
