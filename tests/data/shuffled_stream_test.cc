#include "data/shuffled_stream.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "data/files/criteo_stream.h"
#include "tests/train/testing/files.h"

namespace tessera {
namespace {

constexpr ShuffleOptions kShuffle{.seed = 3, .window_rows = 8};

ShuffledStream Open(const std::string& path, RowRange range, int64_t first_place = 0,
                    int64_t epoch = 0) {
  const auto open = [=](int64_t from) {
    return std::make_unique<CriteoStream>(CriteoFiles{{path}, true}, range, from);
  };
  return ShuffledStream(open, range, kShuffle, epoch, first_place);
}

// Each row's number with the place after it.
using Places = std::vector<std::pair<int64_t, int64_t>>;

Places Read(ShuffledStream stream) {
  Places rows;
  ClickRow row;
  while (stream.Next(row)) rows.emplace_back(row.integers[0], stream.next_row());
  return rows;
}

std::string Lines(bool with_bad_lines) {
  std::string text;
  for (int n = 0; n < 40; ++n)
    text +=
        with_bad_lines && (n % 5 == 2 || n / 8 == 3) ? "bad\n" : testing::NumberedLine(n) + "\n";
  return text;
}

TEST(ShuffledStream, ShufflesWithinWindows) {
  const std::string path = testing::WriteFile("all.tsv", Lines(false));
  const Places rows = Read(Open(path, {2, 37}));
  ASSERT_EQ(rows.size(), 35u);
  std::vector<int64_t> seen;
  for (size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ((rows[i].first - 2) / 8, static_cast<int64_t>(i) / 8);
    EXPECT_EQ(rows[i].second, 3 + static_cast<int64_t>(i));
    seen.push_back(rows[i].first);
  }
  EXPECT_FALSE(std::is_sorted(seen.begin(), seen.begin() + 8));
  std::sort(seen.begin(), seen.end());
  for (size_t i = 0; i < seen.size(); ++i) EXPECT_EQ(seen[i], static_cast<int64_t>(i) + 2);
  EXPECT_NE(rows, Read(Open(path, {2, 37}, 0, 1)));
}

TEST(ShuffledStream, GoesOnFromAnyPlace) {
  for (const bool with_bad_lines : {false, true}) {
    const std::string path = testing::WriteFile("some.tsv", Lines(with_bad_lines));
    const Places rows = Read(Open(path, {1, RowRange::kEnd}));
    for (size_t i = 0; i < rows.size(); ++i)
      EXPECT_EQ(Read(Open(path, {1, RowRange::kEnd}, rows[i].second)),
                Places(rows.begin() + static_cast<int64_t>(i) + 1, rows.end()))
          << i;
  }
}

TEST(ShuffledStream, SaysTheShareOfTheBytesWithoutAnEnd) {
  const std::string path = testing::WriteFile("all.tsv", Lines(false));
  std::vector<double> all;
  for (const int64_t place : {0, 13}) {
    ShuffledStream stream = Open(path, {4}, place);
    ClickRow row;
    std::vector<double> shares;
    while (stream.Next(row)) {
      shares.push_back(stream.fraction().value());
      EXPECT_NEAR(shares.back(), static_cast<double>(stream.next_row() - 4) / 36, 0.1);
      if (shares.size() > 1) {
        EXPECT_GT(shares.back(), shares[shares.size() - 2]);
      }
    }
    EXPECT_EQ(shares.back(), 1);
    if (place == 0) {
      all = shares;
    } else {
      EXPECT_EQ(shares, std::vector(all.begin() + 9, all.end()));
    }
  }
}

TEST(ShuffledStream, CountsBadLines) {
  const std::string path = testing::WriteFile("bad.tsv", Lines(true));
  ShuffledStream stream = Open(path, {});
  ClickRow row;
  int64_t rows = 0;
  while (stream.Next(row)) ++rows;
  EXPECT_EQ(rows + stream.SkippedBefore(RowRange::kEnd), 40);
  EXPECT_EQ(stream.fraction(), 1);
}

}  // namespace
}  // namespace tessera
