#include "data/rows/number_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string>

#include "runtime/base/parse_number.h"

namespace tessera {
namespace {

// Doubles hold these, and whole numbers below 2^53, exactly, so that a quotient of both is rounded
// once.
constexpr double kPowersOfTen[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8, 1e9,
                                   1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18};
constexpr int64_t kExactDigits = 18;
constexpr double kFloatLimit = 3.4028235677973366e38;  // what rounds to infinity from here on

using internal::IsDigit;

// Whether `p` begins an exponent that ends at `end`.
bool IsExponent(const char* p, const char* end) {
  if (p == end || (*p != 'e' && *p != 'E')) return false;
  ++p;
  if (p < end && (*p == '+' || *p == '-')) ++p;
  return p < end && std::all_of(p, end, IsDigit);
}

// A number whose syntax was checked.
double Rounded(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() ? number : NearestDouble(std::string(text));
}

constexpr std::array<uint8_t, 256> kHexDigits = [] {
  std::array<uint8_t, 256> digits{};
  digits.fill(0xff);
  for (uint8_t i = 0; i < 10; ++i) digits[static_cast<size_t>('0' + i)] = i;
  for (uint8_t i = 0; i < 6; ++i) {
    digits[static_cast<size_t>('a' + i)] = static_cast<uint8_t>(10 + i);
    digits[static_cast<size_t>('A' + i)] = static_cast<uint8_t>(10 + i);
  }
  return digits;
}();

}  // namespace

NumberFault ParseNumber(std::string_view text, double& number) {
  const char* p = text.data();
  const char* const end = p + text.size();
  const bool minus = p < end && *p == '-';
  p += minus ? 1 : 0;
  uint64_t digits = 0;
  const char* const whole = p;
  while (p < end && IsDigit(*p)) digits = digits * 10 + static_cast<uint64_t>(*p++ - '0');
  int64_t count = p - whole, decimals = 0;
  if (p < end && *p == '.') {
    const char* const point = ++p;
    while (p < end && IsDigit(*p)) digits = digits * 10 + static_cast<uint64_t>(*p++ - '0');
    decimals = p - point;
    count += decimals;
  }
  if (count == 0) return NumberFault::kNotANumber;
  if (p == end && count <= kExactDigits && digits >> 53 == 0) {
    const double magnitude =
        static_cast<double>(digits) / kPowersOfTen[static_cast<size_t>(decimals)];
    number = minus ? -magnitude : magnitude;
    return NumberFault::kNone;
  }
  if (p != end && !IsExponent(p, end)) return NumberFault::kNotANumber;
  number = Rounded(text);
  return std::abs(number) < kFloatLimit ? NumberFault::kNone : NumberFault::kTooBig;
}

bool internal::ParseLongWhole(std::string_view digits, uint64_t& magnitude) {
  if (!std::all_of(digits.begin(), digits.end(), IsDigit)) return false;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), magnitude);
  return error == std::errc();
}

bool HasDecimalComma(std::string_view text) {
  const size_t comma = text.find(',');
  if (comma == text.npos || comma + 1 == text.size() || !IsDigit(text[comma + 1])) return false;
  std::string with_point(text);
  with_point[comma] = '.';
  double number = 0;
  return ParseNumber(with_point, number) != NumberFault::kNotANumber;
}

bool ParseHex(std::string_view text, uint64_t& number) {
  if (text.empty() || text.size() > 16) return false;
  uint64_t value = 0;
  uint8_t bad = 0;
  for (const char c : text) {
    const uint8_t digit = kHexDigits[static_cast<unsigned char>(c)];
    bad |= digit;
    value = value << 4 | (digit & 15);
  }
  number = value;
  return bad < 16;
}

}  // namespace tessera
