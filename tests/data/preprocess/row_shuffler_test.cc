#include "data/preprocess/row_shuffler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace tessera {
namespace {

// Row n is n mod 5 bytes longer than a number.
std::vector<int64_t> Shuffled(int64_t rows, int64_t memory, uint64_t seed) {
  RowShuffler shuffler(::testing::TempDir(), memory, seed);
  for (int64_t row = 0; row < rows; ++row) {
    std::vector<char> bytes(sizeof row + static_cast<size_t>(row % 5), 'x');
    std::memcpy(bytes.data(), &row, sizeof row);
    shuffler.Add(bytes);
  }
  std::vector<int64_t> out;
  shuffler.Drain([&](std::span<const char> bytes) {
    int64_t row = 0;
    std::memcpy(&row, bytes.data(), sizeof row);
    EXPECT_EQ(bytes.size(), sizeof row + static_cast<size_t>(row % 5));
    out.push_back(row);
  });
  return out;
}

TEST(RowShuffler, GivesEveryRowOnceInAnyMemory) {
  const auto order = Shuffled(1000, 1 << 20, 1);
  EXPECT_FALSE(std::is_sorted(order.begin(), order.end()));
  EXPECT_NE(order, Shuffled(1000, 1 << 20, 2));
  // Buckets of 64: as they are, cut once and cut twice.
  for (const int64_t memory : {10000, 300, 60}) EXPECT_EQ(Shuffled(1000, memory, 1), order);
  auto rows = order;
  std::sort(rows.begin(), rows.end());
  for (size_t i = 0; i < rows.size(); ++i) ASSERT_EQ(rows[i], static_cast<int64_t>(i));
  EXPECT_TRUE(Shuffled(0, 100, 1).empty());
}

TEST(RowShuffler, ARowMayComeAnywhere) {
  constexpr int kSeeds = 2000, kRows = 20;
  std::vector<int> first(kRows);
  for (uint64_t seed = 0; seed < kSeeds; ++seed)
    ++first[static_cast<size_t>(Shuffled(kRows, 200, seed)[0])];
  for (const int count : first)
    EXPECT_NEAR(count, kSeeds / kRows, 6 * std::sqrt(kSeeds / kRows));  // six standard deviations
}

}  // namespace
}  // namespace tessera
