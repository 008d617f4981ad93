// A check that does not end is named while it still runs; one that ends in time is not.
#include "bench/lab/slow_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

namespace tessera::bench {
namespace {

using std::chrono::milliseconds;

TEST(SlowCheck, NamesACheckThatDoesNotEnd) {
  std::promise<std::string> told;
  const SlowCheck slow("variant mine", milliseconds(1),
                       [&](const std::string& line) { told.set_value(line); });
  EXPECT_THAT(told.get_future().get(),
              ::testing::StartsWith("variant mine: its check has not ended for 0.001 s"));
}

TEST(SlowCheck, SaysNothingOfOneThatEnds) {
  bool told = false;
  {
    const SlowCheck slow("variant mine", std::chrono::hours(1), [&](auto&) { told = true; });
  }
  EXPECT_FALSE(told);
}

}  // namespace
}  // namespace tessera::bench
