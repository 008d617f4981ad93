#include "runtime/numbers/math.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <random>

namespace tessera {
namespace {

TEST(Math, PowersAreWithinAFewUnitsInTheLastPlace) {
  for (double x = 1e-12; x < 1e12; x *= 1.37) {
    EXPECT_NEAR(Log2(x), std::log2(x), 1e-14 * std::max(1.0, std::abs(std::log2(x)))) << x;
    for (const double y : {-7.3, -0.5, 0.0, 0.3, 1.0, 4.25})
      EXPECT_NEAR(Pow(x, y) / std::pow(x, y), 1, 2e-13) << x << "^" << y;
  }
  for (double x = -40; x < 40; x += 0.0973) EXPECT_NEAR(Exp2(x) / std::exp2(x), 1, 1e-14) << x;
}

TEST(Math, Exp2AtItsEnds) {
  EXPECT_EQ(Exp2(0), 1);
  EXPECT_EQ(Exp2(-3), 0.125);
  EXPECT_EQ(Exp2(-5000), 0);
  EXPECT_EQ(Exp2(1024), std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(Exp2(std::nan(""))));
}

// |got − want| in units of want's last place as a double.
double Ulps(double got, long double want) {
  int exponent = 0;
  std::frexp(want, &exponent);
  return static_cast<double>(std::abs(got - want) / std::ldexp(1.0L, exponent - 53));
}

TEST(Math, ExponentialsAndLogarithmsAreWithinOneUnitInTheLastPlace) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> uniform;
  for (int i = 0; i < 200'000; ++i) {
    const double u = uniform(random), x = i % 2 == 0 ? -707 + 1416 * u : 4 * u - 2;
    ASSERT_LE(Ulps(Exp(x), std::exp(static_cast<long double>(x))), 1) << x;
    const double y = i % 2 == 0 ? 2 * u + 1e-9 : std::ldexp(1 + u, i % 2000 - 1000);
    ASSERT_LE(Ulps(Log(y), std::log(static_cast<long double>(y))), 1) << y;
    const double z = i % 4 == 0 ? y : i % 4 == 1 ? 1e-3 * u : 2 * u - 1;
    ASSERT_LE(Ulps(Log1p(z), std::log1p(static_cast<long double>(z))), 2) << z;
    const long double angle = std::numbers::pi_v<long double> * 2 * static_cast<long double>(u);
    ASSERT_NEAR(CosPi(2 * u), static_cast<double>(std::cos(angle)), 1e-15) << u;
  }
}

TEST(Math, ExponentialsAndLogarithmsAtTheirEnds) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const double nan = std::nan(""), smallest = std::numeric_limits<double>::denorm_min();
  EXPECT_EQ(Exp(0), 1);
  EXPECT_EQ(Exp(-kInfinity), 0);
  EXPECT_EQ(Exp(-745), smallest);
  EXPECT_EQ(Exp(-800), 0);
  EXPECT_EQ(Exp(710.5), kInfinity);
  EXPECT_DOUBLE_EQ(Exp(709.7), std::exp(709.7));
  EXPECT_TRUE(std::isnan(Exp(nan)));
  EXPECT_EQ(Log(1), 0);
  EXPECT_EQ(Log(0), -kInfinity);
  EXPECT_EQ(Log(kInfinity), kInfinity);
  EXPECT_DOUBLE_EQ(Log(smallest), std::log(smallest));
  EXPECT_TRUE(std::isnan(Log(-1)));
  EXPECT_TRUE(std::isnan(Log(nan)));
  EXPECT_EQ(Log1p(1e-300), 1e-300);
  EXPECT_EQ(Log1p(-1), -kInfinity);
  EXPECT_DOUBLE_EQ(Log1p(1e307), std::log1p(1e307));
  EXPECT_EQ(Log1p(kInfinity), kInfinity);
  EXPECT_TRUE(std::isnan(Log1p(-1.5)));
  EXPECT_TRUE(std::isnan(Log1p(nan)));
  EXPECT_EQ(CosPi(0), 1);
  EXPECT_EQ(CosPi(1), -1);
  EXPECT_EQ(CosPi(2), 1);
}

TEST(Math, ExtremesAndSignsKeepNaN) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(Max(1.0f, 2.0f), 2);
  EXPECT_EQ(Min(1.0f, 2.0f), 1);
  EXPECT_EQ(Max(1.0f, nan), 1);
  EXPECT_TRUE(std::isnan(Max(nan, 1.0f)));
  EXPECT_TRUE(std::isnan(Min(nan, 1.0f)));
  EXPECT_EQ(Sign(-3.0f), -1);
  EXPECT_EQ(Sign(0.25f), 1);
  EXPECT_EQ(Sign(0.0f), 0);
  EXPECT_TRUE(std::isnan(Sign(nan)));
}

}  // namespace
}  // namespace tessera
