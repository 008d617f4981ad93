#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "cli/error_text.h"
#include "cli/latencies.h"
#include "cli/show/byte_progress.h"
#include "cli/show/numbers.h"
#include "cli/show/row_progress.h"
#include "cli/train/loss_curve.h"
#include "cli/train/progress.h"
#include "cli/wrapped_text.h"
#include "runtime/base/check.h"

namespace tessera::cli {
namespace {

TEST(Numbers, AreReadable) {
  EXPECT_EQ(WithCommas(0), "0");
  EXPECT_EQ(WithCommas(999), "999");
  EXPECT_EQ(WithCommas(1000), "1,000");
  EXPECT_EQ(WithCommas(1234567.6), "1,234,568");
  EXPECT_EQ(WithCommas(-123456), "-123,456");
  EXPECT_EQ(WithCommas(-123), "-123");
  EXPECT_EQ(WithCommas(std::numeric_limits<double>::quiet_NaN()), "-");
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

TEST(ProgressLine, ShowsWhatMatters) {
  EXPECT_EQ(ProgressLine(2, 0.5, 43210, 0.45714, 12),
            "epoch 2  [############------------]  50 %  43,210 samples/s  loss 0.4571  0:12 left");
  EXPECT_EQ(ProgressLine(1, 1, 5, 0.5, -1),
            "epoch 1  [########################] 100 %  5 samples/s  loss 0.5000");
}

TEST(BytesLine, ShowsWhatMatters) {
  EXPECT_EQ(BytesLine(1 << 20, 4 << 20, 10),
            "[######------------------]  25 %  1.0 MiB of 4.0 MiB  0:30 left");
  EXPECT_EQ(BytesLine(512, 512, 1), "[########################] 100 %  512 B of 512 B");
  EXPECT_EQ(BytesLine(0, 512, 1), "[------------------------]   0 %  0 B of 512 B");
}

TEST(RowsLine, ShowsWhatMatters) {
  EXPECT_EQ(RowsLine("reading", 0.25, 50000, 10),
            "reading  [######------------------]  25 %  5,000 rows/s  0:30 left");
  EXPECT_EQ(RowsLine("writing", 1, 10, 2), "writing  [########################] 100 %  5 rows/s");
  EXPECT_EQ(RowsLine("reading", 0, 0, 0), "reading  [------------------------]   0 %");
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
