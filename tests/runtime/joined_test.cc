#include "runtime/base/joined.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace tessera::internal {
namespace {

using Words = std::vector<std::string>;

TEST(Joined, PutsWordsOfAListInOneText) {
  EXPECT_EQ(Joined(Words()), "");
  EXPECT_EQ(Joined(Words{"a"}), "a");
  EXPECT_EQ(Joined(Words{"a", "b", "c"}), "a, b, c");
  EXPECT_EQ(Joined(Words{"", "b"}, " "), " b");
  EXPECT_EQ(Joined(std::vector<int>{3, 1}, ";"), "3;1");
  EXPECT_EQ(Joined(std::set<std::string>{"b", "a"}), "a, b");
}

TEST(Joined, MayHaveAnotherWordBeforeTheLast) {
  EXPECT_EQ(Joined(Words{"a"}, ", ", " or "), "a");
  EXPECT_EQ(Joined(Words{"a", "b"}, ", ", " or "), "a or b");
  EXPECT_EQ(Joined(Words{"a", "b", "c"}, ", ", " and "), "a, b and c");
}

TEST(Joined, NamesTheFirstItemsAndCountsTheOthers) {
  EXPECT_EQ(JoinedFirst(Words(), 2), "");
  EXPECT_EQ(JoinedFirst(Words{"a", "b"}, 2), "a, b");
  EXPECT_EQ(JoinedFirst(Words{"a", "b", "c"}, 2), "a, b and 1 more");
  EXPECT_EQ(JoinedFirst(Words{"a", "b", "c", "d"}, 1, InQuotes), "'a' and 3 more");
}

}  // namespace
}  // namespace tessera::internal
