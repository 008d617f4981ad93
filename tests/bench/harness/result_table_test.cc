#include "bench/harness/result_table.h"

#include <gtest/gtest.h>

namespace tessera::bench {
namespace {

Measurement Row(std::vector<double> seconds) {
  Measurement row;
  row.topic = "lookup";
  row.case_name = "D16";
  row.contender = "tessera";
  row.seconds = std::move(seconds);
  return row;
}

TEST(SecondsTextTest, PicksAUnit) {
  EXPECT_EQ(SecondsText(3.5e-9), "3.5 ns");
  EXPECT_EQ(SecondsText(812e-9), "812.0 ns");
  EXPECT_EQ(SecondsText(2.5e-6), "2.50 us");
  EXPECT_EQ(SecondsText(0.02341), "23.41 ms");
  EXPECT_EQ(SecondsText(1.5), "1.50 s");
}

TEST(ResultTableTest, HasAHeadingThenALineAMeasurement) {
  ResultTable table({Point("D128_zipf", {})});
  Measurement row = Row({1e-3, 1e-3, 1e-3});
  row.limit_seconds = {0.9e-3, 0.9e-3, 0.9e-3};
  row.bytes = 2e6;
  row.items = 5000;
  EXPECT_EQ(
      table.Lines({row}),
      "case       threads  contender                 time   spread     GB/s      M ids/s  of "
      "limit\n"
      "D16              1  tessera                1.00 ms     0 %      2.00            5      90 "
      "%\n");
  row.limit_seconds.clear();
  row.bytes = row.items = 0;
  EXPECT_EQ(table.Lines({row}),
            "D16              1  tessera                1.00 ms     0 %         -            -    "
            "     -\n");
}

TEST(ResultTableTest, ShowsScores) {
  ResultTable table({Point("D16", {})});
  Measurement row = Row({1e-3});
  row.facts = {{"rows", 5}, {"hit_rate", 0.25}, {"best_hit_rate", 0.5}};
  const std::string lines = table.Lines({row});
  EXPECT_NE(lines.find("of limit    hit rate  of best\n"), std::string::npos) << lines;
  EXPECT_TRUE(lines.ends_with("      25.0 %     50 %\n")) << lines;
  row.facts = {{"hit_rate", 0}, {"best_hit_rate", 0}};
  EXPECT_TRUE(table.Lines({row}).ends_with("       0.0 %    100 %\n"));
}

TEST(NoiseWarningTest, CountsNoisyRows) {
  EXPECT_EQ(ResultTable::NoiseWarning({Row({1, 1, 1})}), "");
  const std::string warning = ResultTable::NoiseWarning({Row({1, 1, 1}), Row({1, 2, 3})});
  EXPECT_TRUE(warning.starts_with("1 of 2 rows spread by more than 10 %")) << warning;
}

}  // namespace
}  // namespace tessera::bench
