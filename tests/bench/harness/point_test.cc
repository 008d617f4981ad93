#include "bench/harness/point.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/base/check.h"
#include "tests/testing/error_of.h"

namespace tessera::bench {
namespace {

using tessera::testing::ErrorOf;
using ::testing::HasSubstr;

TEST(ParseWholeTest, TakesEndings) {
  EXPECT_EQ(ParseWhole("20"), 20);
  EXPECT_EQ(ParseWhole("64k"), 64000);
  EXPECT_EQ(ParseWhole("1M"), 1000000);
  EXPECT_EQ(ParseWhole("1.5M"), 1500000);
  EXPECT_EQ(ParseWhole("2G"), 2000000000);
  EXPECT_EQ(ParseWhole("4Ki"), 4096);
  EXPECT_EQ(ParseWhole("3Mi"), 3 << 20);
  EXPECT_EQ(ParseWhole("1Gi"), 1 << 30);
  EXPECT_EQ(ParseWhole("1e6"), 1000000);
  EXPECT_EQ(ParseWhole("-3"), -3);
}

TEST(ParseWholeTest, RefusesWhatIsNoWholeNumber) {
  for (const char* text : {"", "x", "1.5", "1K", "1 M", "M", "1e30", "inf", "nan", "20%"})
    EXPECT_THAT(ErrorOf([&] { ParseWhole(text); }), HasSubstr(std::string("'") + text + "'"))
        << text;
}

TEST(PointTest, ReadsItsValues) {
  const Point point("case", {{"dim", "64"}, {"skew", "zipf:1.05"}, {"part", "0.5"}, {"on", "yes"}});
  EXPECT_EQ(point.label(), "case");
  EXPECT_EQ(point.Int("dim"), 64);
  EXPECT_EQ(point.Text("skew"), "zipf:1.05");
  EXPECT_EQ(point.Number("part"), 0.5);
  EXPECT_TRUE(point.Flag("on"));
  EXPECT_TRUE(point.Has("dim"));
  EXPECT_FALSE(point.Has("rows"));
}

TEST(PointTest, ErrorsNameAxisAndValue) {
  const Point point("", {{"dim", "many"}});
  const std::string whole = ErrorOf([&] { point.Int("dim"); });
  EXPECT_THAT(whole, HasSubstr("--dim: "));
  EXPECT_THAT(whole, HasSubstr("'many'"));
  EXPECT_THAT(ErrorOf([&] { point.Flag("dim"); }), HasSubstr("--dim: expected one of yes, no"));
  EXPECT_THAT(ErrorOf([&] { point.Text("rows"); }), HasSubstr("'rows'"));
}

TEST(AxisCheckTest, SaysWhatIsAllowed) {
  EXPECT_EQ(ErrorOf([] { WholeFrom(1, 64)("64"); }), "");
  EXPECT_EQ(ErrorOf([] { WholeFrom(1, 64)("65"); }),
            "expected a whole number from 1 to 64, got '65'");
  EXPECT_EQ(ErrorOf([] { WholeFrom(1)("0"); }), "expected a whole number of at least 1, got '0'");
  EXPECT_EQ(ErrorOf([] { NumberFrom(0, 1)("1.5"); }), "expected a number from 0 to 1, got '1.5'");
  EXPECT_EQ(ErrorOf([] { OneOf({"a", "b"})("c"); }), "expected one of a, b; got 'c'");
}

}  // namespace
}  // namespace tessera::bench
