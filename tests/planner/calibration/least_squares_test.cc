#include "planner/calibration/least_squares.h"

#include <gtest/gtest.h>

#include <random>

#include "runtime/base/check.h"

namespace tessera {
namespace {

TEST(FitPrices, FindsThePricesThatMadeTheBills) {
  const std::vector<double> prices = {2e-6, 0, 3e-9, 5e-12};
  std::mt19937 random(1);
  std::vector<Bill> bills;
  for (int i = 0; i < 30; ++i) {
    Bill bill{{1, double(random() % 100), double(random() % 10000), double(random() % 100000000)},
              0};
    for (size_t j = 0; j < prices.size(); ++j) bill.seconds += prices[j] * bill.counts[j];
    bills.push_back(bill);
  }
  const std::vector<double> found = FitPrices(bills);
  for (size_t j = 0; j < prices.size(); ++j)
    EXPECT_NEAR(found[j], prices[j], 1e-3 * prices[j] + 1e-13) << j;
}

TEST(FitPrices, NoneIsNegative) {
  // The second thing seems to save time.
  const std::vector<double> found = FitPrices({{{1, 0}, 4}, {{1, 1}, 3}, {{1, 2}, 3.5}});
  EXPECT_GT(found[0], 0);
  EXPECT_EQ(found[1], 0);
}

TEST(FitPrices, WhatNeverOccursCostsNothing) {
  EXPECT_EQ(FitPrices({{{1, 0}, 4}, {{2, 0}, 8}}), (std::vector<double>{4, 0}));
}

TEST(FitPrices, RefusesBillsThatAreNone) {
  EXPECT_THROW(FitPrices({}), Error);
  EXPECT_THROW(FitPrices({{{1}, 0}}), Error);
  EXPECT_THROW(FitPrices({{{1}, 1}, {{1, 2}, 1}}), Error);
}

TEST(FitWithOverhead, WhatIsCountedHasAPriceThoughNoiseHidesIt) {
  const std::vector<double> found = FitWithOverhead({{{1, 1}, 4.5}, {{1, 2}, 7}, {{1, 3}, 9.5}});
  EXPECT_NEAR(found[0], 2, 1e-6);
  EXPECT_NEAR(found[1], 2.5, 1e-6);
  const std::vector<double> hidden = FitWithOverhead({{{1, 1}, 4}, {{1, 2}, 4}, {{1, 3}, 3}});
  EXPECT_EQ(hidden[0], 0);
  EXPECT_GT(hidden[1], 1);
  EXPECT_LT(hidden[1], 4);
  const std::vector<double> both =
      FitWithOverhead({{{1, 1, 1}, 7}, {{1, 2, 1}, 9}, {{1, 1, 3}, 15}, {{1, 3, 2}, 15}});
  EXPECT_NEAR(both[0], 1, 1e-6);
  EXPECT_NEAR(both[1], 2, 1e-6);
  EXPECT_NEAR(both[2], 4, 1e-6);
  const std::vector<double> alike =
      FitWithOverhead({{{1, 1, 2}, 4}, {{1, 2, 2}, 3}, {{1, 3, 2}, 2}, {{1, 4, 2}, 2}});
  EXPECT_EQ(alike[0], 0);
  EXPECT_GT(alike[1], 0.3);
  EXPECT_EQ(alike[1], alike[2]);
}

}  // namespace
}  // namespace tessera
