#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "cli/latencies.h"
#include "cli/runs/folded_table.h"
#include "cli/show/byte_progress.h"
#include "cli/show/error_text.h"
#include "cli/show/log.h"
#include "cli/show/numbers.h"
#include "cli/show/row_progress.h"
#include "cli/show/work_progress.h"
#include "cli/train/loss_curve.h"
#include "cli/train/progress.h"
#include "cli/wrapped_text.h"
#include "runtime/base/check.h"

namespace tessera::cli {
namespace {

TEST(FoldedTable, NoLineIsWiderThanATerminal) {
  std::vector<std::vector<std::string>> narrow = {{"group", "lr"}, {"1", "0.1"}};
  EXPECT_EQ(FoldedTable(narrow), TextTable(narrow));
  for (const auto& [rows, columns] : {std::pair<size_t, size_t>{3, 40}, {90, 9}, {2, 2}}) {
    std::vector<std::vector<std::string>> wide(rows);
    for (size_t r = 0; r < rows; ++r)
      for (size_t c = 0; c < columns; ++c)
        wide[r].push_back(Format("±{}_{}{}", r, c, std::string(columns == 2 ? 44 : 20, 'x')));
    const std::string text = FoldedTable(wide);
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(TextWidth(line), kTextColumns);
    for (const auto& row : wide)
      for (const std::string& cell : row) EXPECT_NE(text.find(cell), text.npos) << cell;
  }
}

TEST(FoldedTable, HasRowsAndColumnsExchangedWhereThatFits) {
  std::vector<std::vector<std::string>> keys = {{"group"}, {"1"}, {"2"}};
  for (int key = 0; key < 30; ++key) {
    keys[0].push_back(Format("optimizer.key_{}", key));
    for (size_t group : {1, 2}) keys[group].push_back(std::to_string(key * 10));
  }
  const std::string text = FoldedTable(keys);
  EXPECT_TRUE(
      text.starts_with("group               1    2\n"
                       "optimizer.key_0     0    0\n"
                       "optimizer.key_1    10   10\n"))
      << text;
  EXPECT_EQ(std::ranges::count(text, '\n'), 31);
}

TEST(Numbers, AreReadable) {
  EXPECT_EQ(WithCommas(0), "0");
  EXPECT_EQ(WithCommas(999), "999");
  EXPECT_EQ(WithCommas(1000), "1,000");
  EXPECT_EQ(WithCommas(1234567.6), "1,234,568");
  EXPECT_EQ(WithCommas(-123456), "-123,456");
  EXPECT_EQ(WithCommas(-123), "-123");
  EXPECT_EQ(WithCommas(std::numeric_limits<double>::quiet_NaN()), "-");
  EXPECT_EQ(Counted(0, "epoch"), "0 epochs");
  EXPECT_EQ(Counted(1, "bad line"), "1 bad line");
  EXPECT_EQ(Counted(43210, "row"), "43,210 rows");
  EXPECT_EQ(Duration(0.2), "0:00");
  EXPECT_EQ(Duration(59.6), "1:00");
  EXPECT_EQ(Duration(3723), "1:02:03");
  EXPECT_EQ(Bytes(512), "512 B");
  EXPECT_EQ(Bytes(1536), "1.5 KiB");
  EXPECT_EQ(Bytes(int64_t{166400000}), "158.7 MiB");
  EXPECT_EQ(Bytes(int64_t{1} << 52), "4096.0 TiB");
  EXPECT_EQ(Fixed(0.12345, 4), "0.1235");
  EXPECT_EQ(Fixed(std::numeric_limits<double>::quiet_NaN(), 4), "-");
}

TEST(Help, EndsAtColumn100) {
  const std::string words(10, 'w');
  std::string long_text = "  --flag N                    begins";
  for (int i = 0; i < 7; ++i) long_text += " " + words;
  EXPECT_EQ(Wrapped("short\n" + long_text),
            "short\n  --flag N                    begins " + words + " " + words + " " + words +
                " " + words + " " + words + "\n" + std::string(30, ' ') + words + " " + words);
  const std::string example = "Example:\n  curl " + std::string(120, 'x') + " y\n";
  EXPECT_EQ(Wrapped(example), example);
  EXPECT_EQ(Wrapped(std::string(101, 'x')), std::string(101, 'x'));
}

TEST(TextTable, PadsColumns) {
  EXPECT_EQ(TextTable({{"table", "rows"}, {"a", "1,000"}, {"longer one"}}),
            "table        rows\na           1,000\nlonger one\n");
}

TEST(TrainingState, ShowsWhatMatters) {
  const WorkState half =
      TrainingState({.epoch = 2, .step = 5, .fraction = 0.5},
                    {.samples_per_second = 43210, .loss = 0.45714, .seconds_left = 12});
  EXPECT_EQ(LogMessage(half), "epoch 2 50 % 43,210 samples/s loss 0.4571 0:12 left");
  EXPECT_EQ(BarLine(half),
            "epoch 2  [############------------]  50 %  43,210 samples/s  loss 0.4571  0:12 left");
  EXPECT_EQ(BarLine(TrainingState({.epoch = 1, .step = 5, .fraction = 1},
                                  {.samples_per_second = 5, .loss = 0.5})),
            "epoch 1  [########################] 100 %  5 samples/s  loss 0.5000");
}

TEST(BytesState, ShowsWhatMatters) {
  EXPECT_EQ(BarLine(BytesState(1 << 20, 4 << 20, 10)),
            "[######------------------]  25 %  1.0 MiB of 4.0 MiB  0:30 left");
  EXPECT_EQ(BarLine(BytesState(512, 512, 1)), "[########################] 100 %  512 B of 512 B");
  EXPECT_EQ(BarLine(BytesState(0, 512, 1)), "[------------------------]   0 %  0 B of 512 B");
}

TEST(RowsState, ShowsWhatMatters) {
  EXPECT_EQ(BarLine(RowsState("reading", 0.25, 50000, 10)),
            "reading  [######------------------]  25 %  5,000 rows/s  0:30 left");
  EXPECT_EQ(BarLine(RowsState("writing", 1, 10, 2)),
            "writing  [########################] 100 %  5 rows/s");
  EXPECT_EQ(BarLine(RowsState("reading", 0, 0, 0)), "reading  [------------------------]   0 %");
}

TEST(PauseOfLines, GrowsFromTenSecondsToAMinute) {
  using std::chrono::seconds;
  EXPECT_EQ(PauseOfLines(seconds(0)), seconds(10));
  EXPECT_EQ(PauseOfLines(seconds(60)), seconds(10));
  EXPECT_EQ(PauseOfLines(seconds(180)), seconds(30));
  EXPECT_EQ(PauseOfLines(seconds(360)), seconds(60));
  EXPECT_EQ(PauseOfLines(seconds(36000)), seconds(60));
}

TEST(LastErrorLine, IsReadAgainInEitherForm) {
  for (const char* format : {"", "text", "json"}) {
    SetLog({.format = format});
    const std::string line = LastErrorLine("x.json: \"key\" is bad\xff");
    EXPECT_EQ(line.back(), '\n');
    EXPECT_EQ(line.starts_with("tessera: x.json"), std::string(format) != "json") << line;
    ASSERT_TRUE(ErrorOfLine(line).has_value()) << line;
    EXPECT_TRUE(ErrorOfLine(line)->starts_with("x.json: \"key\" is bad")) << line;
  }
  SetLog({});
  EXPECT_FALSE(ErrorOfLine(TextLine(LogLevel::kError, "x")));
  EXPECT_FALSE(ErrorOfLine(R"({"level":"info","message":"x"})"));
  EXPECT_FALSE(ErrorOfLine("{no json"));
  EXPECT_FALSE(ErrorOfLine("epoch 1"));
}

TEST(TextLine, GivesEachLineItsTimeAndLevel) {
  const std::string text = TextLine(LogLevel::kError, "two\nlines");
  EXPECT_EQ(text.substr(24), " ERROR two\n" + text.substr(0, 24) + " ERROR lines");
}

TEST(WorkProgress, LinesComeAfterTenSecondsAndMoreRarelyAsTheWorkGetsLong) {
  using std::chrono::seconds;
  SetLog({.format = "json"});
  WorkProgress progress;
  const auto begin = WorkProgress::Clock::now();
  EXPECT_FALSE(progress.IsBar());
  EXPECT_FALSE(progress.IsDue(begin + seconds(9)));
  ASSERT_TRUE(progress.IsDue(begin + seconds(11)));
  ::testing::internal::CaptureStderr();
  progress.Show({.step = "a", .fraction = 0.5, .facts = {"b"}, .fields = {{"c", int64_t{3}}}},
                begin + seconds(11));
  const std::string line = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(line.find(R"("message":"a 50 % b","fraction":0.5,"c":3})"), std::string::npos) << line;
  EXPECT_FALSE(progress.IsDue(begin + seconds(20)));
  EXPECT_TRUE(progress.IsDue(begin + seconds(21)));
  SetLog({.format = "", .quiet = true});
  EXPECT_FALSE(WorkProgress().IsDue(begin + seconds(3600)));
  SetLog({});
}

TEST(LossCurve, DrawsAFallTowardTheOptimum) {
  LossCurve curve;
  EXPECT_EQ(curve.Draw(0.3), "");
  for (int i = 0; i < 600; ++i) curve.Add(10, i < 100 ? 0.8 : 0.5);
  const std::string picture = curve.Draw(0.25);
  EXPECT_EQ(picture.substr(0, picture.find('\n')), " 0.8000 |" + std::string(10, '*'));
  EXPECT_NE(picture.find(" 0.5000 |          " + std::string(50, '*') + "\n"), std::string::npos)
      << picture;
  EXPECT_NE(picture.find(" 0.2500 |- - "), std::string::npos) << picture;
  EXPECT_NE(picture.find("0.2500, the best possible"), std::string::npos) << picture;
  EXPECT_NE(picture.find("6,000 rows"), std::string::npos) << picture;
}

TEST(LossCurve, FewOrEqualPoints) {
  LossCurve curve;
  curve.Add(5, 0.5);
  curve.Add(5, 0.5);
  curve.Add(5, 0.5);
  EXPECT_NE(curve.Draw(std::nullopt).find("|***\n"), std::string::npos);
}

TEST(Latencies, QuantilesAndBins) {
  Latencies latencies;
  EXPECT_TRUE(std::isnan(latencies.Quantile(0.5)));
  EXPECT_EQ(latencies.Text(), "no calls\n");
  for (int i = 1; i <= 1000; ++i) latencies.Add(i * 1e-6);
  EXPECT_DOUBLE_EQ(latencies.Quantile(0.5), 500e-6);
  EXPECT_DOUBLE_EQ(latencies.Quantile(0.99), 990e-6);
  EXPECT_DOUBLE_EQ(latencies.Quantile(0.999), 999e-6);
  EXPECT_DOUBLE_EQ(latencies.Quantile(0), 1e-6);
  EXPECT_TRUE(latencies.Text().starts_with("p50 500 us  p99 990 us  p99.9 999 us\n"));
  EXPECT_NE(latencies.Text().find("1.0 ms    489  [########################]"), std::string::npos)
      << latencies.Text();
}

TEST(ErrorText, NamesNoSource) {
  EXPECT_EQ(ErrorText(Error("x.json: bad (train/config.cc:41)")), "x.json: bad");
  EXPECT_EQ(ErrorText(Error("a.tsv: 5 (runtime/x.h:1) (y.cc:2)")), "a.tsv: 5");
  EXPECT_EQ(ErrorText(Error("clicks.tsv:11: column 1 (label): bad")),
            "clicks.tsv:11: column 1 (label): bad");
  try {
    TESSERA_FAIL("it is late");
  } catch (const Error& error) {
    EXPECT_EQ(ErrorText(error), "it is late");
  }
}

}  // namespace
}  // namespace tessera::cli
