#include "bench/pictures/histogram.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/bench/harness/run_for_tests.h"

namespace tessera::bench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<int64_t> Counts(const std::vector<double>& seconds) {
  std::vector<int64_t> counts;
  for (const HistogramBin& bin : HistogramOf(seconds)) counts.push_back(bin.count);
  return counts;
}

TEST(HistogramTest, WidthFollowsFreedmanAndDiaconis) {
  // Quartiles 2 and 4 of eight samples: 2 · 2 / ∛8 = 2.
  const std::vector<double> seconds = {1, 2, 2, 2.5, 3.5, 4, 4, 5};
  EXPECT_THAT(Counts(seconds), ElementsAre(4, 3, 1));
  EXPECT_EQ(HistogramOf(seconds)[1].low, 3);
}

TEST(HistogramTest, OneSlowCallDoesNotHideTheOthers) {
  const std::vector<int64_t> counts = Counts({1, 2, 2, 2.5, 3.5, 4, 4, 1000});
  ASSERT_EQ(counts.size(), 20u);
  EXPECT_EQ(counts[0], 4);
  EXPECT_EQ(counts[1], 3);
  EXPECT_EQ(counts.back(), 1);
}

TEST(HistogramTest, EqualSamplesAreOneBin) {
  EXPECT_THAT(Counts({2}), ElementsAre(1));
  EXPECT_THAT(Counts({2, 2, 2, 2, 2, 9}), ElementsAre(6)) << "the middle half is the same";
}

TEST(HistogramTest, BarsFitTheLine) {
  EXPECT_EQ(HistogramText(MadeUpRow("a", "tessera", {1e-3, 1e-3, 1e-3})),
            "lookup/a/1t tessera: 3 samples from 1.00 ms to 1.00 ms\n"
            "    1.00 ms ### 3\n");
  const std::string many =
      HistogramText(MadeUpRow("a", "tessera", std::vector<double>(1000, 1e-3)));
  EXPECT_THAT(many, HasSubstr("; a # is 15\n"));
  EXPECT_THAT(many, HasSubstr(" " + std::string(67, '#') + " 1000\n"));
}

}  // namespace
}  // namespace tessera::bench
