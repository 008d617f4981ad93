#include "data/preprocess/row_shuffler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "tests/train/testing/files.h"

namespace tessera {
namespace {

std::vector<int64_t> Shuffled(int64_t rows, int64_t memory, uint64_t seed,
                              int64_t* buckets = nullptr) {
  RowShuffler shuffler(::testing::TempDir(), sizeof(int64_t), rows, memory, seed);
  if (buckets != nullptr) *buckets = shuffler.buckets();
  for (int64_t row = 0; row < rows; ++row)
    shuffler.Add({reinterpret_cast<const char*>(&row), sizeof row});
  std::vector<int64_t> out;
  shuffler.Drain([&](std::span<const char> bytes) {
    int64_t row = 0;
    std::memcpy(&row, bytes.data(), sizeof row);
    out.push_back(row);
  });
  return out;
}

TEST(RowShuffler, GivesEveryRowOnce) {
  for (const int64_t memory : {100, 1000, 1 << 20}) {
    int64_t buckets = 0;
    auto rows = Shuffled(1000, memory, 1, &buckets);
    EXPECT_EQ(buckets, std::max<int64_t>(1, (8000 + memory - 1) / memory));
    EXPECT_FALSE(std::is_sorted(rows.begin(), rows.end()));
    EXPECT_EQ(rows, Shuffled(1000, memory, 1));
    EXPECT_NE(rows, Shuffled(1000, memory, 2));
    std::sort(rows.begin(), rows.end());
    for (size_t i = 0; i < rows.size(); ++i) ASSERT_EQ(rows[i], static_cast<int64_t>(i));
  }
  EXPECT_TRUE(Shuffled(0, 100, 1).empty());
}

TEST(RowShuffler, ARowMayComeAnywhere) {
  constexpr int kSeeds = 2000, kRows = 20;
  std::vector<int> first(kRows);
  for (uint64_t seed = 0; seed < kSeeds; ++seed)
    ++first[static_cast<size_t>(Shuffled(kRows, 50, seed)[0])];
  for (const int count : first)
    EXPECT_NEAR(count, kSeeds / kRows, 6 * std::sqrt(kSeeds / kRows));  // six standard deviations
}

TEST(RowShuffler, TooLittleMemoryIsAnError) {
  EXPECT_EQ(testing::ErrorOf([] { Shuffled(1000, 10, 1); }),
            "shuffling 8000 bytes of rows needs at least 15 bytes of memory, not 10");
}

}  // namespace
}  // namespace tessera
