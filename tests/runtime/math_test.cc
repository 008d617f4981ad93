#include "runtime/numbers/math.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

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
