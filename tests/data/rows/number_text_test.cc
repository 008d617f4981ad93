// Numbers of cells beside the C library's.
#include "data/rows/number_text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <map>
#include <random>
#include <string>

#include "data/rows/short_number.h"
#include "tests/testing/comma_locale.h"

namespace tessera {
namespace {

NumberFault FaultOf(std::string_view text) {
  double number = 0;
  return ParseNumber(text, number);
}

TEST(HasDecimalComma, WhereAPointWouldMakeANumber) {
  for (const char* text : {"3,5", "-0,25", ",5", "1,5e3", "1,5e300"})
    EXPECT_TRUE(HasDecimalComma(text)) << text;
  for (const char* text : {"", "3.5", "3,", "1,2,3", "1.000,5", "a,5", "3,x", "5"})
    EXPECT_FALSE(HasDecimalComma(text)) << text;
}

TEST(ParseNumber, GivesTheNearestDouble) {
  for (const char* text : {"0",
                           "-0",
                           "1",
                           "007",
                           "5.",
                           ".5",
                           "-.5",
                           "1e3",
                           "1E-2",
                           "0.1",
                           "9007199254740993",
                           "9007199254740993.5",
                           "123456789012345678",
                           "1234567890123456789012",
                           "1e-400",
                           "-1e-400",
                           "4.9e-324",
                           "2.2250738585072011e-308",
                           "3.4028235677973364e38",
                           "0e999999999999999999999",
                           "0.30000000000000004",
                           "1.7976931348623157",
                           "00000000000000000000000000000000005"}) {
    double number = -1;
    ASSERT_EQ(ParseNumber(text, number), NumberFault::kNone) << text;
    const double expected = std::strtod(text, nullptr);
    EXPECT_EQ(number, expected) << text;
    EXPECT_EQ(std::signbit(number), std::signbit(expected)) << text;
  }
}

TEST(ParseNumber, RandomDecimalsAreRoundedOnce) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 100000; ++i) {
    std::string text = std::to_string(random() >> (random() % 60));
    text.insert(random() % (text.size() + 1), ".");
    double number = 0;
    ASSERT_EQ(ParseNumber(text, number), NumberFault::kNone) << text;
    ASSERT_EQ(number, std::strtod(text.c_str(), nullptr)) << text;
  }
}

TEST(ParseNumber, RefusesAnythingElse) {
  for (const char* text : {"", "-", "+1", ".", "-.", "1e", "e5", "1e+", "0x10", "nan", "inf", " 1",
                           "1 ", "1,5", "1_0", "--1", "1.2.3", "1e5.0", "infinity"})
    EXPECT_EQ(FaultOf(text), NumberFault::kNotANumber) << text;
  for (const char* text : {"1e39", "-1e39", "1e999", "3.4028235677973366e38"})
    EXPECT_EQ(FaultOf(text), NumberFault::kTooBig) << text;
}

TEST(ParseNumber, KnowsNoLocale) {
  const testing::CommaLocale comma(::testing::TempDir());
  for (const char* text : {"1.5e400", "-1.5e999999", "1.5e39"})
    EXPECT_EQ(FaultOf(text), NumberFault::kTooBig) << text;
  for (const auto& [text, expected] :
       std::map<std::string, double>{{"1.5e-400", 0},
                                     {"-1.5e-400", 0},
                                     {"1.5e-3", 0.0015},
                                     {"12345678901234567890.5", 12345678901234567890.5}}) {
    double number = -1;
    ASSERT_EQ(ParseNumber(text, number), NumberFault::kNone) << text;
    EXPECT_EQ(number, expected) << text;
  }
  EXPECT_EQ(FaultOf("1,5"), NumberFault::kNotANumber);
}

TEST(ParseWhole, Has64BitsOfEitherKind) {
  const auto check = [](std::string_view text, uint64_t magnitude, bool negative) {
    WholeNumber whole;
    ASSERT_TRUE(ParseWhole(text, whole)) << text;
    EXPECT_EQ(whole.magnitude, magnitude) << text;
    EXPECT_EQ(whole.negative, negative) << text;
  };
  check("0", 0, false);
  check("-0", 0, false);
  check("007", 7, false);
  check("-5", 5, true);
  check("18446744073709551615", ~uint64_t{0}, false);
  check("-9223372036854775808", uint64_t{1} << 63, true);
  check("0000000000000000000000000000012", 12, false);
  WholeNumber whole;
  for (const char* text : {"", "-", "+1", "5.0", "1e3", " 1", "18446744073709551616", "0x1",
                           "-9223372036854775809", "99999999999999999999999", "1 ", "12345678901a"})
    EXPECT_FALSE(ParseWhole(text, whole)) << text;
}

TEST(ParseHex, HasAtMost16Digits) {
  uint64_t value = 0;
  EXPECT_TRUE(ParseHex("fF0", value));
  EXPECT_EQ(value, 0xff0u);
  EXPECT_TRUE(ParseHex("ffffffffffffffff", value));
  EXPECT_EQ(value, ~uint64_t{0});
  for (const char* text : {"", "g", "0x1", "-1", "00000000000000001", "1 "})
    EXPECT_FALSE(ParseHex(text, value)) << text;
}

// A text of up to nine characters, many of which are digits, and where it can be read on.
std::string RandomText(std::mt19937_64& random) {
  const std::string characters = "00123456789abcdefABCDEF/:@`gG.- \x10\x80\xff";
  const size_t kinds[] = {11, 23, characters.size()};
  const size_t some = kinds[random() % 3];
  std::string text(random() % 10, '\0');
  for (char& c : text) c = characters[random() % some];
  return text;
}

TEST(ShortNumbers, AreThoseOfUpToEightDigits) {
  std::mt19937_64 random(3);
  int64_t wholes = 0, hexes = 0;
  for (int i = 0; i < 300'000; ++i) {
    const std::string text = RandomText(random);
    const std::string padded = text + std::string(8, static_cast<char>(random()));
    const auto given = std::string_view(padded).substr(0, text.size());
    const bool is_short = text.size() <= 8;
    uint64_t got = 0, expected = 0;
    const bool is_hex = is_short && ParseHex(text, expected);
    ASSERT_EQ(internal::ReadShortHex(given, got), is_hex) << text;
    ASSERT_TRUE(!is_hex || got == expected) << text;
    WholeNumber whole;
    const bool is_whole =
        is_short && text.find('-') == std::string::npos && ParseWhole(text, whole);
    ASSERT_EQ(internal::ReadShortWhole(given, got), is_whole) << text;
    ASSERT_TRUE(!is_whole || got == whole.magnitude) << text;
    wholes += is_whole ? 1 : 0;
    hexes += is_hex ? 1 : 0;
    double number = 0, padded_number = 0;
    const NumberFault fault = ParseNumber(text, number);
    ASSERT_EQ(ParsePaddedNumber(given, padded_number), fault) << text;
    ASSERT_TRUE(fault != NumberFault::kNone || padded_number == number) << text;
  }
  EXPECT_GT(wholes, 50'000);
  EXPECT_GT(hexes, 100'000);
}

}  // namespace
}  // namespace tessera
