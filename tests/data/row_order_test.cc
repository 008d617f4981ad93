#include "data/row_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace tessera {
namespace {

std::vector<int64_t> All(RowRange range, const std::optional<ShuffleOptions>& shuffle,
                         int64_t epoch = 0) {
  RowOrder order(range, shuffle, epoch);
  std::vector<int64_t> rows(static_cast<size_t>(order.size()));
  order.Rows(0, rows);
  return rows;
}

std::vector<int64_t> Sorted(std::vector<int64_t> rows) {
  std::sort(rows.begin(), rows.end());
  return rows;
}

std::vector<int64_t> Numbers(int64_t first, int64_t last) {
  std::vector<int64_t> numbers(static_cast<size_t>(last - first));
  std::iota(numbers.begin(), numbers.end(), first);
  return numbers;
}

constexpr ShuffleOptions kSmall{.seed = 5, .window_rows = 12, .block_rows = 4};

TEST(RowOrder, WithoutShuffleRowsAreAsTheyLie) {
  EXPECT_EQ(All({3, 10}, {}), Numbers(3, 10));
  EXPECT_TRUE(All({3, 3}, {}).empty());
}

TEST(RowOrder, EveryRowOnceForAllSizes) {
  for (int64_t rows = 0; rows < 60; ++rows)
    for (const ShuffleOptions& shuffle :
         {kSmall, ShuffleOptions{}, ShuffleOptions{2, 5, 5}, ShuffleOptions{2, 7, 3},
          ShuffleOptions{2, 1, 1}, ShuffleOptions{2, 3, 100}})
      EXPECT_EQ(Sorted(All({10, 10 + rows}, shuffle)), Numbers(10, 10 + rows)) << rows;
}

TEST(RowOrder, IsAFunctionOfSeedAndEpoch) {
  const auto rows = All({0, 50}, kSmall, 1);
  EXPECT_EQ(rows, All({0, 50}, kSmall, 1));
  EXPECT_NE(rows, All({0, 50}, kSmall, 2));
  ShuffleOptions other = kSmall;
  other.seed = 6;
  EXPECT_NE(rows, All({0, 50}, other, 1));
  EXPECT_NE(rows, Numbers(0, 50));
}

TEST(RowOrder, AnyPlaceIsFoundWithoutWhatComesBefore) {
  for (const int64_t last : {47, 48, 50}) {
    const auto rows = All({0, last}, kSmall, 3);
    for (int64_t place = 0; place < last; ++place) {
      RowOrder order({0, last}, kSmall, 3);
      std::vector<int64_t> rest(static_cast<size_t>(std::min<int64_t>(last - place, 9)));
      order.Rows(place, rest);
      EXPECT_TRUE(std::equal(rest.begin(), rest.end(), rows.begin() + place)) << place;
    }
  }
}

TEST(RowOrder, AWindowReadsWholeBlocks) {
  const auto rows = All({0, 48}, kSmall);
  for (size_t begin = 0; begin < rows.size(); begin += 12) {
    std::vector<int64_t> blocks;
    for (size_t i = begin; i < begin + 12; ++i) blocks.push_back(rows[i] / 4);
    std::sort(blocks.begin(), blocks.end());
    for (size_t i = 0; i < 12; ++i) EXPECT_EQ(blocks[i], blocks[i / 4 * 4]);
  }
}

TEST(Shuffle, EveryOrderHasEqualChance) {
  std::vector<int> seen(6);
  constexpr int kDraws = 6000;
  for (uint64_t sequence = 0; sequence < kDraws; ++sequence) {
    std::vector<int64_t> numbers = {0, 1, 2};
    Shuffle(1, sequence, numbers);
    const int64_t rank = numbers[0] * 2 + (numbers[1] > numbers[2]);
    ++seen[static_cast<size_t>(rank)];
  }
  for (const int count : seen) EXPECT_NEAR(count, kDraws / 6, 6 * 29);  // six standard deviations
}

TEST(RowOrder, BadOptionsAreErrors) {
  EXPECT_THROW(All({0, 5}, ShuffleOptions{.window_rows = 0}), std::exception);
  EXPECT_THROW(All({0, 5}, ShuffleOptions{.block_rows = 0}), std::exception);
  RowOrder order({0, 5}, {}, 0);
  std::vector<int64_t> rows(3);
  EXPECT_THROW(order.Rows(3, rows), std::exception);
}

}  // namespace
}  // namespace tessera
