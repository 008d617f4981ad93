#include "planner/step_model/cost_curve.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(PriceAt, IsStraightInTheLogarithmAndFlatBeyondTheEnds) {
  const CostCurve curve = {{16, 1}, {64, 3}, {256, 3}};
  EXPECT_EQ(PriceAt(curve, 1), 1);
  EXPECT_DOUBLE_EQ(PriceAt(curve, 32), 2);
  EXPECT_DOUBLE_EQ(PriceAt(curve, 64), 3);
  EXPECT_DOUBLE_EQ(PriceAt(curve, 100), 3);
  EXPECT_EQ(PriceAt(curve, 1e9), 3);
  EXPECT_EQ(PriceAt({}, 5), 0);
}

TEST(PriceAt, TakesAPointAtZero) { EXPECT_DOUBLE_EQ(PriceAt({{0, 2}, {10, 4}}, 5), 3); }

TEST(TimeAt, GoesOnAsBetweenTheLastTwoPoints) {
  const CostCurve curve = {{0, 10}, {100, 20}, {200, 40}};
  EXPECT_DOUBLE_EQ(TimeAt(curve, 50), 15);
  EXPECT_DOUBLE_EQ(TimeAt(curve, 150), 30);
  EXPECT_DOUBLE_EQ(TimeAt(curve, 400), 80);
  EXPECT_DOUBLE_EQ(SlopeOf(curve), 0.2);
}

TEST(TimeAt, NeverFalls) {
  const CostCurve curve = {{0, 10}, {100, 8}};
  EXPECT_EQ(TimeAt(curve, 1000), 8);
  EXPECT_EQ(SlopeOf(curve), 0);
  EXPECT_EQ(TimeAt({}, 5), 0);
}

TEST(RowPrice, IsBetweenItsNeighbours) {
  const RowPriceTable table = {{64, {{1024, 1}, {4096, 5}}}, {128, {{1024, 2}, {4096, 10}}}};
  EXPECT_DOUBLE_EQ(RowPrice(table, 64, 1024), 1);
  EXPECT_DOUBLE_EQ(RowPrice(table, 96, 1024), 1.5);
  EXPECT_DOUBLE_EQ(RowPrice(table, 96, 2048), (3 + 6) / 2.0);
  EXPECT_DOUBLE_EQ(RowPrice(table, 16, 4096), 5);   // narrower than was measured
  EXPECT_DOUBLE_EQ(RowPrice(table, 256, 1024), 4);  // wider: as from the first to the second
  EXPECT_EQ(RowPrice({}, 64, 1024), 0);
  EXPECT_EQ(RowPrice({{64, {{1, 7}}}}, 1000, 1), 7);  // one entry is for all
}

}  // namespace
}  // namespace tessera
