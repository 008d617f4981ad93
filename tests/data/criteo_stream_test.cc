#include "data/files/criteo_stream.h"

#include <gtest/gtest.h>

#include "tests/train/testing/files.h"

namespace tessera {
namespace {

using testing::ErrorOf;
using testing::NumberedLine;
using testing::NumberedLines;
using testing::WriteFile;
using testing::WriteGzFile;

std::vector<int64_t> FirstIntegers(CriteoStream stream) {
  std::vector<int64_t> numbers;
  ClickRow row;
  while (stream.Next(row)) {
    EXPECT_EQ(row.categories[0], static_cast<uint64_t>(row.integers[0]));
    numbers.push_back(row.integers[0]);
  }
  return numbers;
}

std::vector<int64_t> Numbers(int64_t begin, int64_t end) {
  std::vector<int64_t> numbers;
  for (; begin < end; ++begin) numbers.push_back(begin);
  return numbers;
}

std::vector<std::string> ThreeFiles() {
  return {WriteFile("a.tsv", NumberedLines(0, 10)),
          WriteGzFile("b.tsv.gz", NumberedLines(10, 15, "\r\n")),
          WriteFile("c.tsv", NumberedLines(15, 30))};
}

TEST(CriteoStream, RowRangesCountOverAllFiles) {
  const CriteoFiles files{.paths = ThreeFiles()};
  EXPECT_EQ(FirstIntegers(CriteoStream(files)), Numbers(0, 30));
  EXPECT_EQ(FirstIntegers(CriteoStream(files, {0, 30})), Numbers(0, 30));
  EXPECT_EQ(FirstIntegers(CriteoStream(files, {3, 12})), Numbers(3, 12));
  EXPECT_EQ(FirstIntegers(CriteoStream(files, {12, 30})), Numbers(12, 30));
  EXPECT_EQ(FirstIntegers(CriteoStream(files, {29})), Numbers(29, 30));
  EXPECT_EQ(FirstIntegers(CriteoStream(files, {10, 11})), Numbers(10, 11));
  EXPECT_EQ(FirstIntegers(CriteoStream(files, {30})), Numbers(0, 0));
  EXPECT_EQ(FirstIntegers(CriteoStream(files, {7, 7})), Numbers(0, 0));
}

TEST(CriteoStream, AByteOrderMarkIsNoPartOfTheLabel) {
  const std::string mark = "\xef\xbb\xbf";
  const CriteoFiles files{.paths = {WriteFile("marked.tsv", mark + NumberedLines(0, 3)),
                                    WriteGzFile("marked.tsv.gz", mark + NumberedLines(3, 5))}};
  EXPECT_EQ(FirstIntegers(CriteoStream(files)), Numbers(0, 5));
}

TEST(CriteoStream, RangesBeyondTheDataAreErrors) {
  const CriteoFiles files{.paths = ThreeFiles()};
  EXPECT_EQ(ErrorOf([&] {
              FirstIntegers(CriteoStream(files, {3, 31}));
            }),
            PastEndText({3, 31}, 30, files.paths));
  EXPECT_EQ(ErrorOf([&] { FirstIntegers(CriteoStream(files, {31})); }),
            PastEndText({31}, 30, files.paths));
}

TEST(CriteoStream, BadLinesAreErrorsWithFileAndLine) {
  const std::string path = WriteFile(
      "bad.tsv", NumberedLines(0, 2) + "x" + NumberedLine(2) + "\n" + NumberedLines(3, 5));
  EXPECT_EQ(ErrorOf([&] { FirstIntegers(CriteoStream({.paths = {path}})); }),
            path + ":3: column 1 (label): expected a label, 0 or 1, got 'x0'");
  const std::string short_path = WriteFile("short.tsv", "1\t2\n");
  EXPECT_EQ(ErrorOf([&] { FirstIntegers(CriteoStream({.paths = {short_path}})); }),
            short_path + ":1: expected 40 columns separated by tabs, got 2");
  const std::string blank_path = WriteFile("blank.tsv", NumberedLines(0, 1) + "\n");
  EXPECT_EQ(ErrorOf([&] { FirstIntegers(CriteoStream({.paths = {blank_path}})); }),
            blank_path +
                ":2: column 1 (label): expected a label, 0 or 1, got ''; "
                "--skip-bad-lines leaves blank lines out");
}

TEST(CriteoStream, SkippedLinesAreCountedAndKeepTheirNumbers) {
  const std::string text =
      NumberedLines(0, 2) + "bad\n" + NumberedLines(3, 5) + "\n" + NumberedLine(6) + "\nbad\n";
  const CriteoFiles files{.paths = {WriteFile("bad.tsv", text)}, .skip_bad_lines = true};
  CriteoStream stream(files);
  ClickRow row;
  std::vector<int64_t> next_rows;
  while (stream.Next(row)) {
    EXPECT_EQ(stream.next_row(), row.integers[0] + 1);
    next_rows.push_back(stream.next_row());
  }
  EXPECT_EQ(next_rows, (std::vector<int64_t>{1, 2, 4, 5, 7}));
  EXPECT_EQ(stream.SkippedBefore(3), 1);
  EXPECT_EQ(stream.SkippedBefore(RowRange::kEnd), 3);
  EXPECT_EQ(FirstIntegers(CriteoStream(files, {2, 5})), Numbers(3, 5));
}

TEST(CriteoStream, NoFileIsAnError) { EXPECT_THROW(CriteoStream({}), std::exception); }

TEST(RowRange, Parses) {
  EXPECT_EQ(ParseRowRange("0:56000"), (RowRange{0, 56000}));
  EXPECT_EQ(ParseRowRange("5:"), (RowRange{5, RowRange::kEnd}));
  EXPECT_EQ(ParseRowRange(":7"), (RowRange{0, 7}));
  EXPECT_EQ(ParseRowRange(":"), (RowRange{}));
  EXPECT_EQ(ToString(ParseRowRange("5:")), "5:");
  EXPECT_EQ(ToString(ParseRowRange("5:9")), "5:9");
  for (const char* bad :
       {"", "5", "9:5", "5:5", "-1:5", "a:b", "1:2:3", "1.5:2", " 1:2", "1:99999999999999999999"})
    EXPECT_THROW(ParseRowRange(bad), std::exception) << bad;
}

}  // namespace
}  // namespace tessera
