#include "data/files/criteo_line.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace tessera {
namespace {

// A line whose columns are all "1", with one replaced.
std::string LineWith(int column, const std::string& text) {
  std::string line;
  for (int c = 0; c < ClickRow::kColumns; ++c)
    line += (c == 0 ? "" : "\t") + (c == column ? text : "1");
  return line;
}

std::string ErrorOfLine(const std::string& line) {
  ClickRow row;
  const auto error = ParseCriteoLine(line, row);
  return error ? Describe(*error, line) : "";
}

TEST(CriteoLine, ReadsOriginalHashesAndMissingColumns) {
  const std::string line =
      "0\t1\t-"
      "1\t5\t\t1382\t4\t15\t2\t181\t1\t2\t\t2\t68fd1e64\t80E26C9B\tfb936136\t7b4723c4\t25c83c98\t7e"
      "0ccccf\tde7995b8\t"
      "1f89b562\ta73ee510\ta8cd5504\tb2cb9c98\t37c9c164\t2824a5f6\t1adce6ef\t8ba8b39a\t891b62e7\te5"
      "ba7672\tf54016b9\t21ddcdc9\t"
      "b1252a9d\t07b5194c\t\t3a171ecb\tc5c50484\te8b83407\t9727dd16";
  ClickRow row;
  ASSERT_FALSE(ParseCriteoLine(line, row));
  EXPECT_EQ(row.label, 0.0f);
  EXPECT_EQ(row.integers[0], 1);
  EXPECT_EQ(row.integers[1], -1);
  EXPECT_EQ(row.integers[4], 1382);
  EXPECT_FALSE(row.has_integer(3));
  EXPECT_FALSE(row.has_integer(11));
  EXPECT_TRUE(row.has_integer(12));
  EXPECT_EQ(row.categories[0], 0x68fd1e64u);
  EXPECT_EQ(row.categories[1], 0x80e26c9bu);
  EXPECT_EQ(row.categories[25], 0x9727dd16u);
  EXPECT_FALSE(row.has_category(21));
  EXPECT_EQ(row.categories[21], 0u);
}

TEST(CriteoLine, AllMissing) {
  ClickRow row;
  row.integers[5] = 7;
  ASSERT_FALSE(ParseCriteoLine("1" + std::string(39, '\t'), row));
  EXPECT_EQ(row.label, 1.0f);
  EXPECT_EQ(row.integers_present, 0u);
  EXPECT_EQ(row.categories_present, 0u);
  EXPECT_EQ(row.integers[5], 0);
}

TEST(CriteoLine, ReadsSixteenDigits) {
  ClickRow row;
  ASSERT_FALSE(ParseCriteoLine(LineWith(14, "ffffffffffffffff"), row));
  EXPECT_EQ(row.categories[0], ~uint64_t{0});
  ASSERT_FALSE(ParseCriteoLine(LineWith(1, "-123456789012345678"), row));
  EXPECT_EQ(row.integers[0], -123456789012345678);
}

TEST(CriteoLine, ErrorsNameTheColumnAndWhatCame) {
  EXPECT_EQ(ErrorOfLine(LineWith(0, "2")), "column 1 (label): expected a label, 0 or 1, got '2'");
  EXPECT_EQ(ErrorOfLine(LineWith(0, "")), "column 1 (label): expected a label, 0 or 1, got ''");
  EXPECT_EQ(ErrorOfLine(LineWith(0, "10")), "column 1 (label): expected a label, 0 or 1, got '10'");
  EXPECT_EQ(ErrorOfLine(LineWith(2, "1.5")),
            "column 3 (integer 2): expected an integer, got '1.5'");
  EXPECT_EQ(ErrorOfLine(LineWith(13, "-")), "column 14 (integer 13): expected an integer, got '-'");
  EXPECT_EQ(ErrorOfLine(LineWith(13, " 1")),
            "column 14 (integer 13): expected an integer, got ' 1'");
  EXPECT_EQ(ErrorOfLine(LineWith(1, "1234567890123456789")),
            "column 2 (integer 1): expected an integer, got '1234567890123456789'");
  EXPECT_EQ(ErrorOfLine(LineWith(14, "xyz")),
            "column 15 (category 1): expected a hexadecimal value of at most 16 digits, got 'xyz'");
  EXPECT_EQ(ErrorOfLine(LineWith(39, "0ffffffffffffffff")),
            "column 40 (category 26): expected a hexadecimal value of at most 16 digits, got "
            "'0ffffffffffffffff'");
  EXPECT_EQ(ErrorOfLine(LineWith(39, std::string(60, 'g'))),
            "column 40 (category 26): expected a hexadecimal value of at most 16 digits, got '" +
                std::string(40, 'g') + "…'");
}

TEST(CriteoLine, WrongNumberOfColumns) {
  EXPECT_EQ(ErrorOfLine("1" + std::string(38, '\t')),
            "expected 40 columns separated by tabs, got 39");
  EXPECT_EQ(ErrorOfLine("1" + std::string(40, '\t')),
            "expected 40 columns separated by tabs, got 41");
  EXPECT_EQ(ErrorOfLine("1"), "expected 40 columns separated by tabs, got 1");
  EXPECT_EQ(ErrorOfLine(""), "column 1 (label): expected a label, 0 or 1, got ''");
}

TEST(CriteoLine, WritesWhatItReads) {
  std::mt19937_64 random(3);
  for (int n = 0; n < 200; ++n) {
    ClickRow row;
    row.label = static_cast<float>(random() % 2);
    for (int i = 0; i < ClickRow::kIntegers; ++i) {
      if (random() % 4 == 0) continue;
      row.integers_present |= 1u << i;
      row.integers[i] = static_cast<int64_t>(random() % 100000) - 3;
    }
    for (int i = 0; i < ClickRow::kCategories; ++i) {
      if (random() % 4 == 0) continue;
      row.categories_present |= 1u << i;
      row.categories[i] = random() >> (random() % 2 == 0 ? 32 : random() % 64);
    }
    std::string text;
    AppendCriteoLine(row, text);
    ASSERT_TRUE(text.ends_with('\n'));
    text.pop_back();
    ClickRow back;
    ASSERT_FALSE(ParseCriteoLine(text, back)) << text;
    EXPECT_EQ(back, row) << text;
  }
}

}  // namespace
}  // namespace tessera
