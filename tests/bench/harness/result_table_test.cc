#include "bench/harness/result_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

namespace tessera::bench {
namespace {

using ::testing::HasSubstr;

Measurement Row(std::vector<double> seconds) {
  Measurement row;
  row.topic = "lookup";
  row.case_name = "D16";
  row.contender = "tessera";
  row.seconds = std::move(seconds);
  return row;
}

std::string JoinedLines(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

Point PointOf(const std::string& label, const std::string& threads = "1") {
  return Point(label, {{"threads", threads}});
}

TEST(SecondsTextTest, PicksAUnit) {
  EXPECT_EQ(SecondsText(3.5e-9), "3.5 ns");
  EXPECT_EQ(SecondsText(812e-9), "812.0 ns");
  EXPECT_EQ(SecondsText(2.5e-6), "2.50 us");
  EXPECT_EQ(SecondsText(0.02341), "23.41 ms");
  EXPECT_EQ(SecondsText(1.5), "1.50 s");
}

TEST(ResultTableTest, HasAHeadingThenALineAMeasurement) {
  ResultTable table({PointOf("D128_zipf"), PointOf("D16")});
  Measurement row = Row({1e-3, 2e-3, 3e-3, 4e-3, 5e-3});
  row.limit_seconds = {0.9e-3, 1.8e-3, 2.7e-3, 3.6e-3, 4.5e-3};
  row.bytes = 6e6;
  row.items = 15000;
  EXPECT_EQ(
      table.Lines({row}),
      JoinedLines({"All rows: 1 thread",
                   "case       contender      min       p50      p90      p99    GB/s   ids/s "
                   " of limit",
                   "D16        tessera    1.00 ms  3.00 ms!  4.60 ms  4.96 ms    2.00  5.00 "
                   "M      90 %"}));
  row.limit_seconds.clear();
  row.bytes = row.items = 0;
  EXPECT_THAT(table.Lines({row}), HasSubstr("   -       -         -\n"));
}

TEST(ResultTableTest, RatesHaveAUnitAndNoExponent) {
  Measurement row = Row({1e-3});
  row.items = 99'712'345;
  EXPECT_THAT(ResultTable({PointOf("D16")}).Lines({row}), HasSubstr(" 99.7 G "));
  row.items = 1234;
  EXPECT_THAT(ResultTable({PointOf("D16")}).Lines({row}), HasSubstr(" 1.23 M "));
  row = Row({50});
  row.items = 960;
  EXPECT_THAT(ResultTable({PointOf("D16")}).Lines({row}), HasSubstr(" 19.2 "));
}

TEST(ResultTableTest, ColumnsNeverTouch) {
  Measurement row = Row({1.28e-6});
  row.bytes = 1e9 * 12597.39 * 1.28e-6;
  EXPECT_THAT(ResultTable({PointOf("D16")}).Lines({row}), HasSubstr("1.28 us 12597.39 "));
}

TEST(ResultTableTest, FactsStandBelowTheirRowWhereTheyAreWanted) {
  Measurement row = Row({1e-3});
  row.facts = {{"distinct_rows", 12}};
  EXPECT_TRUE(ResultTable({PointOf("D16")}, /*details=*/true)
                  .Lines({row})
                  .ends_with("\n    distinct rows 12\n"));
  EXPECT_EQ(ResultTable({PointOf("D16")}).Lines({row}).find("distinct"), std::string::npos);
}

TEST(ResultTableTest, SaysOnceWhatAllCasesShare) {
  ResultTable table({PointOf("dim=16,rows=1M"), PointOf("dim=64,rows=1M")});
  Measurement row = Row({1e-3});
  row.case_name = "dim=64,rows=1M";
  const std::string lines = table.Lines({row});
  EXPECT_THAT(lines, HasSubstr("All rows: rows=1M; 1 thread\n"));
  EXPECT_THAT(lines, HasSubstr("\ndim=64  tessera "));
  ResultTable one({PointOf("dim=64,rows=1M")});
  EXPECT_THAT(one.Lines({row}), HasSubstr("\ntessera "));
}

TEST(ResultTableTest, NoLineIsWiderThanAHundredColumns) {
  std::vector<Point> points;
  for (const std::string threads : {"1", "16"})
    points.push_back(PointOf("rowwise_adagrad_criteo_D64_with_a_long_name", threads));
  ResultTable table(points);
  Measurement row = Row({0.3, 0.32, 0.5});
  row.case_name = points[0].label();
  row.contender = "torch.nn.EmbeddingBag";
  row.item = "examples";
  std::istringstream lines(table.Lines({row}));
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100u) << line;
  EXPECT_THAT(lines.str(),
              HasSubstr("\nrowwise_adagrad_criteo_D64_with_a_long_name, 1 thread\n  "));
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

TEST(WarningsTest, CountNoisyRowsAndSharesAboveTheLimit) {
  EXPECT_EQ(ResultTable::Warnings({Row({1, 1, 1})}), "");
  const std::string warning = ResultTable::Warnings({Row({1, 1, 1}), Row({1, 2, 3})});
  EXPECT_TRUE(warning.starts_with("1 of 2 rows spread by more than 10 %")) << warning;
  Measurement above = Row({1, 1, 1});
  above.limit_seconds = {1.4, 1.4, 1.4};
  EXPECT_THAT(ResultTable::Warnings({above}),
              HasSubstr("1 of 1 rows reached more than 100 % of the limit (*)"));
  EXPECT_THAT(ResultTable({Point("D16", {})}).Lines({above}), HasSubstr("140 %*\n"));
}

}  // namespace
}  // namespace tessera::bench
