#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/pictures/bars_svg.h"
#include "bench/pictures/chart_parts.h"
#include "bench/pictures/compare_svg.h"
#include "bench/pictures/sweep_svg.h"
#include "runtime/base/check.h"
#include "tests/bench/harness/run_for_tests.h"
#include "tests/bench/harness/svg_reader.h"

namespace tessera::bench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

int CountOf(const std::vector<SvgElement>& elements, const std::string& tag,
            const std::string& css) {
  int count = 0;
  for (const SvgElement& e : elements) count += e.tag == tag && e.Class() == css;
  return count;
}

// Cases with long and short names, with and without limits, of one and two threads.
BenchRun BarsRun() {
  std::vector<Measurement> rows;
  for (int c = 0; c < 12; ++c)
    for (const int threads : {1, 2})
      for (const char* contender : {"tessera", "plain loop", "a contender of a rather long name"}) {
        const double seconds = 1e-6 * (c + 1) * (threads + 1);
        Measurement row = MadeUpRow(Format("case_{}_{}", c, std::string(size_t(6 * c), 'x')),
                                    contender, {seconds, 1.2 * seconds, 1.4 * seconds});
        row.threads = threads;
        if (c < 9) row.limit_seconds = std::vector<double>(3, seconds * 0.14 * (c + 1));
        rows.push_back(row);
      }
  return MadeUpRun(rows);
}

// Longer than the picture is wide.
const std::string kLongTrace = "trace:/some" + std::string(200, 'x') + "/trace.txt";

BenchRun SweepRun(const std::vector<std::string>& dims, bool limit) {
  std::vector<Measurement> rows;
  for (const std::string& skew : {std::string("uniform"), std::string("zipf:1.05"), kLongTrace})
    for (const int threads : {1, 2})
      for (const std::string& dim : dims) {
        Measurement row = MadeUpRow("dim=" + dim, "tessera", {1e-3 * std::stod(dim) / threads});
        if (limit) row.limit_seconds = {0.8e-3 * std::stod(dim) / threads};
        row.threads = threads;
        row.values = {{"dim", dim}, {"skew", skew}, {"rows", "1M"}};
        rows.push_back(row);
      }
  return MadeUpRun(rows);
}

TEST(BarsSvgTest, DrawsABarARowAndTheLimit) {
  const std::string svg = BarsSvg(BarsRun());
  ExpectReadable(svg);
  const std::vector<SvgElement> elements = ReadSvg(svg);
  for (const char* css : {"s0", "s1", "s2"})
    EXPECT_EQ(CountOf(elements, "rect", css), 24 + 1) << "a bar each, and the legend's mark";
  EXPECT_EQ(CountOf(elements, "line", "limit"), 1);
  EXPECT_THAT(svg, HasSubstr("A &lt;fast&gt; machine"));
  EXPECT_THAT(svg, Not(HasSubstr("<script")));
  EXPECT_THAT(svg, HasSubstr("prefers-color-scheme: dark"));
}

TEST(BarsSvgTest, LengthsAreShares) {
  BenchRun run = MadeUpRun({MadeUpRow("a", "tessera", {2, 2, 2}, {1, 1, 1}),
                            MadeUpRow("b", "tessera", {4, 4, 4}, {4, 4, 4})});
  std::vector<double> widths;
  for (const SvgElement& e : ReadSvg(BarsSvg(run)))
    if (e.tag == "rect" && e.Class() == "s0") widths.push_back(e.Number("width"));
  ASSERT_EQ(widths.size(), 2u);
  EXPECT_NEAR(widths[0], widths[1] / 2, 0.1);
}

TEST(BarsSvgTest, LabelsSayWhatSetsCasesApart) {
  const std::string all = "rows=1k,tables=2,batch=16,pooling=3,skew=zipf:1.05,row-type=bf16";
  const std::string svg = BarsSvg(MadeUpRun({MadeUpRow(all + ",ahead=4", "tessera", {1e-6}),
                                             MadeUpRow(all + ",ahead=16", "tessera", {2e-6})}));
  ExpectReadable(svg);
  EXPECT_THAT(svg, HasSubstr(">ahead=4<"));
  EXPECT_THAT(svg, HasSubstr(">ahead=16<"));
  EXPECT_THAT(svg, HasSubstr("All cases: rows=1k, tables=2, batch=16"));
}

TEST(BarsSvgTest, WithoutLimitsOnlyTimes) {
  const std::string svg = BarsSvg(MadeUpRun({MadeUpRow("a", "tessera", {2e-6})}));
  ExpectReadable(svg);
  EXPECT_THAT(svg, HasSubstr("Time of a call"));
  EXPECT_THAT(svg, Not(HasSubstr("Share of the limit")));
}

TEST(BarsSvgTest, ScoresAreDrawnBesideTheBest) {
  std::vector<Measurement> rows = {MadeUpRow("lru", "tessera", {1}),
                                   MadeUpRow("lfu", "tessera", {2})};
  for (Measurement& row : rows) row.facts = {{"hit_rate", 0.2}, {"best_hit_rate", 0.25}};
  const std::string svg = RunToSvg(MadeUpRun(rows));
  ExpectReadable(svg);
  EXPECT_THAT(svg, HasSubstr("hit rate, and a mark at the best possible"));
  EXPECT_THAT(svg, HasSubstr("20.0 % · 80 % of best"));
  EXPECT_EQ(CountOf(ReadSvg(svg), "line", "limit"), 2);
}

TEST(BarsSvgTest, ScoresMayBeZero) {
  Measurement row = MadeUpRow("lru", "tessera", {1});
  row.facts = {{"hit_rate", 0}, {"best_hit_rate", 0}};
  const std::string svg = RunToSvg(MadeUpRun({row}));
  ExpectReadable(svg);
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
}

TEST(CompareSvgTest, DrawsALineARowAboutOne) {
  std::vector<Measurement> before, now;
  for (int c = 0; c < 6; ++c) {
    const std::string name = Format("case_{}_{}", c, std::string(size_t(30 * c), 'x'));
    std::vector<double> old_seconds, new_seconds;
    for (int i = 0; i < 9; ++i) {
      old_seconds.push_back(1 + 0.001 * i);
      new_seconds.push_back((0.9 + 0.04 * c) * (1 + 0.001 * i));
    }
    before.push_back(MadeUpRow(name, "tessera", old_seconds));
    now.push_back(MadeUpRow(name, "tessera", new_seconds));
  }
  before.push_back(MadeUpRow("few", "tessera", {1, 1}));
  now.push_back(MadeUpRow("few", "tessera", {2, 2}));
  const std::string svg = ComparisonSvg(MadeUpRun(before), MadeUpRun(now));
  ExpectReadable(svg);
  EXPECT_THAT(svg, Not(HasSubstr("inf")));
  EXPECT_THAT(svg, HasSubstr("speed since 2026-11-21, new / old"));
  const std::vector<SvgElement> elements = ReadSvg(svg);
  EXPECT_EQ(CountOf(elements, "circle", "s2"), 3) << "faster";
  EXPECT_EQ(CountOf(elements, "circle", "s5"), 2) << "slower";
  EXPECT_EQ(CountOf(elements, "circle", "s0"), 1) << "the same";
  EXPECT_EQ(CountOf(elements, "circle", "s7"), 1) << "too few rounds";
  EXPECT_EQ(CountOf(elements, "line", "limit"), 1);
}

TEST(CompareSvgTest, RefusesRunsWithoutACommonRow) {
  EXPECT_THROW(ComparisonSvg(MadeUpRun({MadeUpRow("a", "tessera", {1})}),
                             MadeUpRun({MadeUpRow("b", "tessera", {1})})),
               Error);
}

TEST(SweepSvgTest, DrawsALineACombination) {
  for (const std::vector<std::string>& dims :
       {std::vector<std::string>{"16", "32", "64"},
        {"4", "8", "16", "32", "64", "65", "66", "67", "128", "256", "512", "1024", "100000"}}) {
    const BenchRun run = SweepRun(dims, true);
    ASSERT_TRUE(IsSweep(run));
    const std::string svg = SweepSvg(run);
    ExpectReadable(svg);
    const std::vector<SvgElement> elements = ReadSvg(svg);
    for (int line = 0; line < 6; ++line) {
      EXPECT_EQ(CountOf(elements, "path", Format("l{}", line)), 1);
      EXPECT_EQ(CountOf(elements, "path", Format("l{} dashed", line)), 1);
      EXPECT_EQ(CountOf(elements, "circle", Format("s{}", line)), static_cast<int>(dims.size()));
    }
    EXPECT_THAT(svg, HasSubstr("lookup: time of a call by dim"));
    EXPECT_EQ(RunToSvg(run), svg);
  }
}

TEST(SweepSvgTest, CountsWhatRowsCount) {
  BenchRun run = SweepRun({"16", "32", "64"}, false);
  for (Measurement& row : run.rows) row.items = 5;
  EXPECT_THAT(SweepSvg(run), HasSubstr("lookup: ids a second by dim"));
  for (Measurement& row : run.rows) row.bytes = 1e6;
  EXPECT_THAT(SweepSvg(run), HasSubstr("lookup: GB/s by dim"));
  EXPECT_THAT(SweepSvg(run), Not(HasSubstr("limit, in")));
}

TEST(SweepSvgTest, AnythingElseIsDrawnAsBars) {
  BenchRun run = SweepRun({"16", "32"}, true);
  EXPECT_FALSE(IsSweep(run)) << "two values make no line";
  run = SweepRun({"16", "32", "64"}, true);
  run.rows.pop_back();
  EXPECT_FALSE(IsSweep(run)) << "no product";
  EXPECT_EQ(RunToSvg(run), BarsSvg(run));
  run = SweepRun({"16", "32", "64"}, true);
  for (Measurement& row : run.rows) row.values[0].second += "x";
  EXPECT_FALSE(IsSweep(run)) << "no numbers";
  EXPECT_THROW(RunToSvg(MadeUpRun({})), Error);
}

TEST(ChartPartsTest, TicksAreRound) {
  const ChartAxis percent{.low = 0, .high = 1.07};
  EXPECT_THAT(percent.Ticks(6), ElementsAre(0, 0.2, 0.4, 0.6000000000000001, 0.8, 1));
  const ChartAxis wide{.low = 0.5, .high = 2000, .logarithmic = true};
  EXPECT_THAT(wide.Ticks(6), ElementsAre(1, 10, 100, 1000));
  const ChartAxis narrow{.low = 3, .high = 40, .logarithmic = true};
  EXPECT_THAT(narrow.Ticks(6), ElementsAre(5, 10, 20));
}

TEST(ChartPartsTest, AxesMapNumbersToPlaces) {
  const ChartAxis axis{.low = 1, .high = 100, .begin = 300, .end = 100, .logarithmic = true};
  EXPECT_DOUBLE_EQ(axis.At(10), 200);
  EXPECT_EQ(ShortNumber(1.5e6), "1.5M");
  EXPECT_EQ(ShortNumber(0), "0");
}

TEST(SvgCanvasTest, FitsTextsInCharacters) {
  EXPECT_EQ(FittedText("short", 100, 10), "short");
  const std::string fitted = FittedText("ä_long_name_that_does_not_fit_ö", 62, 10);
  EXPECT_LE(TextWidth(fitted, 10), 62);
  EXPECT_THAT(fitted, HasSubstr("…"));
  EXPECT_TRUE(fitted.starts_with("ä") && fitted.ends_with("ö"));
}

}  // namespace
}  // namespace tessera::bench
