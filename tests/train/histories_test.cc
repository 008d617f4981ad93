// Popularity and item-kNN against their formulas, written as loops over all pairs of items.
#include "train/histories.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <set>
#include <utility>
#include <vector>

namespace tessera {
namespace {

constexpr int64_t kItems = 15;

std::vector<std::vector<int64_t>> MadeUp() {
  std::mt19937 random(3);
  std::vector<std::vector<int64_t>> bags(40);
  for (auto& bag : bags)
    for (size_t n = random() % 6; n > 0; --n)
      bag.push_back(static_cast<int64_t>(random() % (kItems - 1)));  // the last one never comes
  return bags;
}

Histories HistoriesOf(const std::vector<std::vector<int64_t>>& bags) {
  Histories histories(kItems);
  for (const auto& bag : bags) histories.Add(bag);
  return histories;
}

int64_t RowsWith(const std::vector<std::vector<int64_t>>& bags, int64_t a, int64_t b) {
  return std::ranges::count_if(bags, [&](const auto& bag) {
    return std::ranges::count(bag, a) > 0 && std::ranges::count(bag, b) > 0;
  });
}

TEST(Histories, HaveEachItemOnce) {
  const auto bags = MadeUp();
  const Histories histories = HistoriesOf(bags);
  ASSERT_EQ(histories.size(), std::ssize(bags));
  const std::vector<float> popularity = histories.Popularity();
  for (size_t row = 0; row < bags.size(); ++row) {
    const std::set<int64_t> distinct(bags[row].begin(), bags[row].end());
    EXPECT_TRUE(std::ranges::equal(histories[static_cast<int64_t>(row)], distinct));
  }
  for (int64_t i = 0; i < kItems; ++i)
    EXPECT_EQ(popularity[static_cast<size_t>(i)], RowsWith(bags, i, i));
}

TEST(ItemNeighbours, ScoresAreSumsOfTheLargestCosines) {
  const auto bags = MadeUp();
  for (const int64_t nearest : {3, 100}) {
    const ItemNeighbours neighbours(HistoriesOf(bags), nearest);
    std::vector<float> want(kItems), got(kItems, 9.f);
    const std::vector<int64_t> history = {1, 4, 8};
    for (const int64_t i : history) {
      std::vector<std::pair<double, int64_t>> near;  // −cosine, item
      for (int64_t j = 0; j < kItems; ++j)
        if (const int64_t both = RowsWith(bags, i, j); j != i && both > 0)
          near.emplace_back(
              -static_cast<double>(both) / std::sqrt(RowsWith(bags, i, i) * RowsWith(bags, j, j)),
              j);
      std::ranges::sort(near);
      near.resize(std::min(near.size(), static_cast<size_t>(nearest)));
      for (const auto& [cosine, j] : near)
        want[static_cast<size_t>(j)] -= static_cast<float>(cosine);
    }
    neighbours.Score(history, got);
    for (size_t j = 0; j < want.size(); ++j) EXPECT_NEAR(got[j], want[j], 1e-6) << j;
    EXPECT_GT(*std::ranges::max_element(got), 0);
  }
}

}  // namespace
}  // namespace tessera
