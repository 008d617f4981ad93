// A contender's `before` is done before each of its runs, also before the first, which does not
// count.
#include "bench/embedding/device_rounds.h"

#include <gtest/gtest.h>

#include <string>

#include "runtime/context.h"

namespace tessera::bench {
namespace {

TEST(DeviceRounds, DoWhatComesBeforeARunEachTime) {
  Context ctx({.threads = 1});
  std::string order;
  const auto timings = DeviceRounds(ctx, /*rounds=*/2, /*flush_bytes=*/64)
                           .Time({{"a", [&](int) { order += 'a'; }, [&](int) { order += '.'; }},
                                  {"b", [&](int) { order += 'b'; }}});
  EXPECT_EQ(order, ".ab.ab.ab");
  EXPECT_EQ(timings.at(0).seconds.size(), 2u);
}

}  // namespace
}  // namespace tessera::bench
