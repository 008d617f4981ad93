#include "bench/inputs/lru_stack.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "bench/inputs/draws.h"

namespace tessera::bench {
namespace {

TEST(LruStackTest, IsTheListItStandsFor) {
  LruStack stack;
  std::vector<int64_t> list;  // the last used first
  Draws draws(3, 0);
  for (int use = 0; use < 5000; ++use) {
    const int64_t row = draws.Below(1 + std::min<int64_t>(use, 300));
    const auto at = std::find(list.begin(), list.end(), row);
    ASSERT_EQ(stack.Depth(row), at == list.end() ? -1 : at - list.begin());
    if (at != list.end()) list.erase(at);
    list.insert(list.begin(), row);
    stack.Use(row);
    ASSERT_EQ(stack.size(), static_cast<int64_t>(list.size()));
    const int64_t depth = draws.Below(stack.size());
    ASSERT_EQ(stack.RowAt(depth), list[static_cast<size_t>(depth)]);
  }
}

TEST(LruStackTest, GrowsWithItsRows) {
  LruStack stack;
  for (int64_t row = 0; row < 10'000; ++row) stack.Use(row);
  for (const int64_t depth : {0, 1, 4999, 9999}) EXPECT_EQ(stack.RowAt(depth), 9999 - depth);
  EXPECT_EQ(stack.Depth(10'000), -1);
}

}  // namespace
}  // namespace tessera::bench
