#include "runtime/base/natural_order.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tessera {
namespace {

TEST(NaturalOrder, NumbersInNamesCountAsNumbers) {
  const std::vector<std::string> sorted = {
      "", "a", "a01", "a1", "a1b", "a2", "a10", "a10b2", "a10b10", "a99999999999999999999", "b"};
  std::vector<std::string> names(sorted.rbegin(), sorted.rend());
  std::ranges::sort(names, NaturalLess());
  EXPECT_EQ(names, sorted);
  const NaturalLess less;
  EXPECT_FALSE(less("t2", "t2"));
  EXPECT_TRUE(less("t_cat_9", "t_cat_10"));
  EXPECT_TRUE(less("t000", "t00") != less("t00", "t000"));
}

}  // namespace
}  // namespace tessera
