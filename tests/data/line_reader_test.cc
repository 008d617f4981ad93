#include "data/files/line_reader.h"

#include <gtest/gtest.h>

#include "tests/train/testing/files.h"

namespace tessera {
namespace {

using testing::ErrorOf;
using testing::TempPath;
using testing::WriteFile;
using testing::WriteGzFile;

std::vector<std::string> AllLines(LineReader& reader) {
  std::vector<std::string> lines;
  std::string_view line;
  while (reader.Next(line)) lines.emplace_back(line);
  return lines;
}

using Lines = std::vector<std::string>;

TEST(LineReader, JoinsFilesPlainAndGzip) {
  LineReader reader({WriteFile("a", "one\ntwo\n"), WriteGzFile("b.gz", "three\r\nfour"),
                     WriteFile("empty", ""), WriteFile("c", "\n\nfive\n")});
  EXPECT_EQ(AllLines(reader), (Lines{"one", "two", "three", "four", "", "", "five"}));
}

TEST(LineReader, LeavesOutAByteOrderMarkBeforeTheFirstLine) {
  const std::string mark = "\xef\xbb\xbf";
  LineReader reader({WriteFile("a", mark + "one\n" + mark + "two\n"), WriteFile("only", mark),
                     WriteGzFile("b.gz", mark + "three"), WriteFile("c", mark + "\nfour\n")});
  EXPECT_EQ(AllLines(reader), (Lines{"one", mark + "two", "three", "", "four"}));
}

class BlockSizes : public ::testing::TestWithParam<int> {};

TEST_P(BlockSizes, DoNotMatter) {
  std::string text;
  Lines want;
  for (int i = 0; i < 300; ++i) {
    want.push_back(std::string(static_cast<size_t>(i * 7 % 23), static_cast<char>('a' + i % 26)));
    text += want.back() + (i % 3 == 0 ? "\r\n" : "\n");
  }
  LineReader plain({WriteFile("plain", text)}, GetParam()),
      gzip({WriteGzFile("text.gz", text)}, GetParam());
  EXPECT_EQ(AllLines(plain), want);
  EXPECT_EQ(AllLines(gzip), want);
}
INSTANTIATE_TEST_SUITE_P(Sizes, BlockSizes, ::testing::Values(25, 26, 31, 64, 1000, 1 << 20));

TEST(LineReader, SaysWhereItIs) {
  const std::string a = WriteFile("a", "1\n2\n"), b = WriteFile("b", "3\n");
  LineReader reader({a, b});
  std::string_view line;
  reader.Next(line);
  reader.Next(line);
  EXPECT_EQ(reader.where(), a + ":2");
  reader.Next(line);
  EXPECT_EQ(reader.where(), b + ":1");
}

TEST(LineReader, SaysHowFarItIs) {
  const std::string text = std::string(999'999, 'x') + "\n";
  LineReader reader({WriteFile("a", text), WriteFile("b", text + text), WriteGzFile("c.gz", "\n")},
                    1 << 20);
  EXPECT_EQ(reader.fraction(), 0);
  std::string_view line;
  reader.Next(line);
  EXPECT_NEAR(reader.fraction().value(), 1.0 / 3, 0.2);
  reader.Next(line);
  EXPECT_NEAR(reader.fraction().value(), 2.0 / 3, 0.2);
  AllLines(reader);
  EXPECT_EQ(reader.fraction(), 1);
}

TEST(LineReader, SaysHowFarItIsInsideABlock) {
  LineReader reader({WriteFile("a", "1\n2\n3\n4"), WriteFile("b", "5\n\n")});
  std::string_view line;
  for (const double bytes : {2, 4, 6, 7, 9, 10}) {
    ASSERT_TRUE(reader.Next(line));
    EXPECT_DOUBLE_EQ(reader.fraction().value(), bytes / 10) << line;
  }
  LineReader packed({WriteGzFile("c.gz", std::string(100, '\n'))});
  packed.Skip(25);
  EXPECT_NEAR(packed.fraction().value(), 0.25, 1e-9);
}

TEST(LineReader, DoesNotSayHowFarItIsWhereAFileHasNoSize) {
  EXPECT_FALSE(LineReader({WriteFile("a", "1\n"), "/dev/null"}).fraction());
}

TEST(LineReader, Skips) {
  LineReader reader({WriteFile("a", "1\n2\n"), WriteFile("b", "3\n4")});
  EXPECT_EQ(reader.Skip(3), 3);
  std::string_view line;
  ASSERT_TRUE(reader.Next(line));
  EXPECT_EQ(line, "4");
  EXPECT_EQ(reader.Skip(2), 0);
}

TEST(LineReader, Errors) {
  EXPECT_NE(ErrorOf([] {
              LineReader({TempPath("nowhere")});
            }).find("nowhere: cannot be read: No such file"),
            std::string::npos);
  EXPECT_NE(ErrorOf([] { LineReader({::testing::TempDir()}); }).find("it is a directory"),
            std::string::npos);
  const std::string path = WriteFile("long", "short\n" + std::string(100, 'x') + "\n");
  LineReader reader({path}, 64);
  EXPECT_EQ(ErrorOf([&] { AllLines(reader); }), path + ":2: the line is longer than 64 bytes");
}

TEST(LineReader, TruncatedOrCorruptGzipIsAnError) {
  std::string text;
  for (int i = 0; i < 20000; ++i) text += std::to_string(i * 7919 % 10007) + "\n";
  const std::string bytes = testing::ReadFile(WriteGzFile("whole.gz", text));
  const std::string truncated = WriteFile("truncated.gz", bytes.substr(0, bytes.size() / 2));
  std::string flipped = bytes;
  flipped[bytes.size() / 2] = static_cast<char>(flipped[bytes.size() / 2] ^ 0x55);
  const std::string corrupt = WriteFile("corrupt.gz", flipped);
  for (const std::string& path : {truncated, corrupt}) {
    LineReader reader({path});
    EXPECT_NE(ErrorOf([&] { AllLines(reader); }).find(path + ": cannot be read to its end"),
              std::string::npos);
  }
}

// One file of several members, as `cat a.gz b.gz` makes it.
std::string Members(const std::vector<std::string>& texts) {
  std::string bytes;
  for (const std::string& text : texts) bytes += testing::ReadFile(WriteGzFile("member.gz", text));
  return bytes;
}

TEST(LineReader, ReadsAllGzipMembers) {
  const std::string bytes = Members({"1\n2\n", "", "3\n"});
  for (const std::string& padding : {std::string(), std::string(700, '\0')}) {
    LineReader reader({WriteFile("members.gz", bytes + padding)});
    EXPECT_EQ(AllLines(reader), (Lines{"1", "2", "3"}));
  }
}

// Wherever the second member is damaged or cut, there is an error, and no line is silently left
// out. (A member has bytes that change nothing: when and by what it was made, bits behind its last
// code.)
TEST(LineReader, ADamagedSecondMemberIsAnError) {
  const std::string first = Members({"1\n2\n"}), both = Members({"1\n2\n", "3\n4\n"});
  const auto is_refused = [](const std::string& bytes) {
    const std::string path = WriteFile("damaged.gz", bytes);
    LineReader reader({path});
    Lines lines;
    const std::string error = ErrorOf([&] { lines = AllLines(reader); });
    if (error.empty()) {
      EXPECT_EQ(lines, (Lines{"1", "2", "3", "4"}));
    }
    return error.find(path + ": cannot be read to its end: ") == 0;
  };
  int refused = 0;
  for (size_t i = first.size(); i < both.size(); ++i) {
    if (i > first.size()) {
      EXPECT_TRUE(is_refused(both.substr(0, i))) << "cut at " << i;
    }
    std::string damaged = both;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x60);
    refused += is_refused(damaged) ? 1 : 0;
  }
  EXPECT_GE(refused + 7, static_cast<int>(both.size() - first.size()));
  EXPECT_TRUE(is_refused(first + "more"));
  EXPECT_TRUE(is_refused(first + std::string(3, '\0') + "more"));
}

}  // namespace
}  // namespace tessera
