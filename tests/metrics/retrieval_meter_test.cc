// Recall, NDCG and MRR of a catalogue against all orders that equal scores may have.
#include "metrics/retrieval_meter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace tessera {
namespace {

// The mean over all orders of the candidates that do not contradict the scores.
RetrievalValues OverAllOrders(const std::vector<float>& scores, int64_t own,
                              const std::vector<int64_t>& without, int64_t k) {
  std::vector<int64_t> order;
  for (int64_t i = 0; i < std::ssize(scores); ++i)
    if (i == own || std::ranges::count(without, i) == 0) order.push_back(i);
  RetrievalValues sums;
  int64_t orders = 0;
  do {
    const bool fits = std::ranges::is_sorted(
        order, std::greater<>(), [&](int64_t i) { return scores[static_cast<size_t>(i)]; });
    if (!fits) continue;
    ++orders;
    const int64_t place = std::ranges::find(order, own) - order.begin();
    if (place >= k) continue;
    sums.recall += 1;
    sums.ndcg += 1 / std::log2(static_cast<double>(place) + 2);
    sums.mrr += 1 / (static_cast<double>(place) + 1);
  } while (std::ranges::next_permutation(order).found);
  const auto n = static_cast<double>(orders);
  return {1, sums.recall / n, sums.ndcg / n, sums.mrr / n};
}

TEST(RetrievalMeter, IsTheMeanOverAllOrdersOfEqualScores) {
  std::mt19937 random(7);
  for (int trial = 0; trial < 40; ++trial) {
    std::vector<float> scores(6);
    for (float& score : scores) score = static_cast<float>(random() % 4);
    const auto own = static_cast<int64_t>(random() % 6), k = static_cast<int64_t>(1 + random() % 6);
    std::vector<int64_t> without;
    for (int64_t i = 0; i < 6; ++i)
      if (random() % 3 == 0) without.push_back(i);
    RetrievalMeter meter(k);
    meter.Add(scores, own, without);
    const RetrievalValues got = meter.Values(), want = OverAllOrders(scores, own, without, k);
    EXPECT_NEAR(got.recall, want.recall, 1e-12) << trial;
    EXPECT_NEAR(got.ndcg, want.ndcg, 1e-12) << trial;
    EXPECT_NEAR(got.mrr, want.mrr, 1e-12) << trial;
  }
}

TEST(RetrievalMeter, WeighsExamples) {
  RetrievalMeter meter(1);
  meter.Add(std::vector<float>{3, 1}, 0, {}, 3);  // found
  meter.Add(std::vector<float>{3, 1}, 1, {}, 1);  // not found
  EXPECT_EQ(meter.Values().examples, 2);
  EXPECT_DOUBLE_EQ(meter.Values().recall, 0.75);
  EXPECT_TRUE(std::isnan(RetrievalMeter(1).Values().recall));
}

TEST(RetrievalMeter, ADivergedModelFindsNothing) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  RetrievalMeter meter(2);
  meter.Add(std::vector<float>{nan, nan, nan}, 1, {});
  meter.Add(std::vector<float>{1, nan, nan}, 0, {});
  EXPECT_EQ(meter.Values().recall, 0);
}

}  // namespace
}  // namespace tessera
