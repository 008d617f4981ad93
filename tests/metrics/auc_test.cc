#include "metrics/formulas/auc.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace tessera {
namespace {

double AucByPairs(const std::vector<float>& p, const std::vector<float>& y,
                  const std::vector<float>& w) {
  double area = 0, pairs = 0;
  for (size_t i = 0; i < p.size(); ++i) {
    for (size_t j = 0; j < p.size(); ++j) {
      const double weight = double{w[i]} * double{y[i]} * double{w[j]} * (1 - double{y[j]});
      pairs += weight;
      area += weight * (p[i] > p[j] ? 1 : p[i] == p[j] ? 0.5 : 0);
    }
  }
  return area / pairs;
}

class RandomAuc : public testing::TestWithParam<int> {};

TEST_P(RandomAuc, IsTheShareOfOrderedPairs) {
  std::mt19937 random(static_cast<unsigned>(GetParam()));
  const size_t n = 2 + random() % 150;
  const unsigned levels = GetParam() % 3 == 0 ? 5 : 100000;  // few levels: many ties
  std::vector<float> p(n), y(n), w(n), ones(n, 1.0f);
  for (size_t i = 0; i < n; ++i) {
    p[i] = static_cast<float>(random() % levels) / static_cast<float>(levels);
    y[i] = GetParam() % 4 == 3 ? static_cast<float>(random() % 5) / 4
                               : static_cast<float>(random() % 2);
    w[i] = static_cast<float>(random() % 8) / 4;
  }
  y[0] = 0;
  y[1] = 1;
  w[0] = w[1] = 1;
  EXPECT_NEAR(Auc({p, y, {}}), AucByPairs(p, y, ones), 1e-12);
  EXPECT_NEAR(Auc({p, y, w}), AucByPairs(p, y, w), 1e-12);
}
INSTANTIATE_TEST_SUITE_P(Seeds, RandomAuc, testing::Range(0, 40));

TEST(Auc, ManyExamplesOfBothSigns) {
  std::mt19937 random(9);
  std::vector<float> p, y, w;
  for (int i = 0; i < 3000; ++i) {
    const float magnitude = static_cast<float>(random() % 1000) * (i % 3 == 0 ? 1e-6f : 1e3f);
    p.push_back(i % 2 == 0 ? magnitude : -magnitude);
    y.push_back(static_cast<float>(random() % 2));
    w.push_back(static_cast<float>(random() % 8) / 4);
  }
  EXPECT_NEAR(Auc({p, y, w}), AucByPairs(p, y, w), 1e-12);
}

TEST(Auc, TiesCountHalf) {
  const std::vector<float> p = {0.5f, 0.5f, 0.5f}, y = {1, 0, 1};
  EXPECT_EQ(Auc({p, y, {}}), 0.5);
}

TEST(Auc, MinusZeroTiesWithZero) {
  const std::vector<float> p = {-0.0f, 0.0f}, y = {0, 1};
  EXPECT_EQ(Auc({p, y, {}}), 0.5);
}

TEST(Auc, PerfectAndReversedOrders) {
  const std::vector<float> p = {0.1f, 0.2f, 0.8f, 0.9f}, y = {0, 0, 1, 1}, reversed = {1, 1, 0, 0};
  EXPECT_EQ(Auc({p, y, {}}), 1.0);
  EXPECT_EQ(Auc({p, reversed, {}}), 0.0);
}

TEST(Auc, UndefinedIsNaN) {
  const std::vector<float> p = {0.1f, 0.2f}, ones = {1, 1}, zeros = {0, 0}, both = {0, 1},
                           one_weighs = {0, 1};
  EXPECT_TRUE(std::isnan(Auc({p, ones, {}})));
  EXPECT_TRUE(std::isnan(Auc({p, zeros, {}})));
  EXPECT_TRUE(std::isnan(Auc({p, both, one_weighs})));
  EXPECT_TRUE(std::isnan(Auc({})));
  const std::vector<float> nan = {0.1f, std::numeric_limits<float>::quiet_NaN()};
  EXPECT_TRUE(std::isnan(Auc({nan, both, {}})));
  EXPECT_EQ(AucOrHalf({p, ones, {}}), 0.5);
  EXPECT_TRUE(std::isnan(AucOrHalf({nan, ones, {}})));
  EXPECT_TRUE(std::isnan(AucOrHalf({p, nan, {}})));
  EXPECT_TRUE(std::isnan(AucOrHalf({p, ones, nan})));
}

TEST(Auc, SizesMustAgree) {
  const std::vector<float> two = {0, 1}, one = {1};
  EXPECT_THROW(Auc({one, two, {}}), std::exception);
  EXPECT_THROW(Auc({two, two, one}), std::exception);
}

}  // namespace
}  // namespace tessera
