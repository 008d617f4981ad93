// Points that a topic cannot measure are refused before the first is made.
#include <gtest/gtest.h>

#include <string>

#include "bench/harness/sweep.h"
#include "bench/harness/sweep_runner.h"
#include "runtime/base/check.h"

namespace tessera::bench {
namespace {

TEST(CheckPointsTest, RefusesBeforeAnythingIsMade) {
  int made = 0;
  const Topic topic = {.name = "fake",
                       .help = "",
                       .limit = "",
                       .axes = {{"dim", {"16"}, ""}, {"codec", {"int8"}, "how rows are stored"}},
                       .suites = {},
                       .make =
                           [&](Context&, const Point&) {
                             ++made;
                             return Work();
                           },
                       .check =
                           [](const Point& point) {
                             if (point.Text("dim") != "16") point.Text("codec");
                             if (point.Text("dim") == "7") throw Error("--dim 7: it is odd");
                           }};
  const auto error_of = [&](const AxisValues& flags) -> std::string {
    try {
      CheckPoints(topic, PointsOf(topic, "", flags));
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_EQ(error_of({}), "no error");
  EXPECT_EQ(error_of({{"codec", {"int4"}}, {"dim", {"16", "8"}}}), "no error") << "one reads it";
  EXPECT_EQ(error_of({{"codec", {"int4"}}, {"threads", {"1"}}}),
            "fake/codec=int4/1t: --codec int4: no case uses it; leave it out here (how rows are "
            "stored)");
  EXPECT_EQ(error_of({{"dim", {"16", "7"}}, {"threads", {"1"}}}),
            "fake/dim=7/1t: --dim 7: it is odd");
  EXPECT_EQ(made, 0);
}

}  // namespace
}  // namespace tessera::bench
