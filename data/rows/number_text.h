#ifndef TESSERA_DATA_ROWS_NUMBER_TEXT_H_
#define TESSERA_DATA_ROWS_NUMBER_TEXT_H_
// Numbers of cells, from their text; all of the text must be the number. Nothing depends on a
// locale.
#include <cstdint>
#include <string_view>

#include "data/rows/short_number.h"

namespace tessera {

enum class NumberFault : uint8_t { kNone, kNotANumber, kTooBig };

// Reads -?(digits[.digits*] | .digits)([eE][+-]?digits)?, rounded to the nearest double. kTooBig: a
// float cannot hold it.
NumberFault ParseNumber(std::string_view text, double& number);

// Does what ParseNumber does, faster for whole numbers of up to eight digits. REQUIRES: eight bytes
// from the text's first on can be read.
inline NumberFault ParsePaddedNumber(std::string_view text, double& number) {
  uint64_t whole = 0;
  if (!internal::ReadShortWhole(text, whole)) return ParseNumber(text, number);
  number = static_cast<double>(whole);
  return NumberFault::kNone;
}

namespace internal {

inline bool IsDigit(char c) { return static_cast<unsigned char>(c - '0') <= 9; }

}  // namespace internal

// Whether a comma stands where the point of a number would: "3,5".
bool HasDecimalComma(std::string_view text);

// A whole number from -2^63 to 2^64 - 1.
struct WholeNumber {
  uint64_t magnitude = 0;
  bool negative = false;  // then magnitude is above 0
};

namespace internal {
bool ParseLongWhole(std::string_view digits, uint64_t& magnitude);
}  // namespace internal

// Reads -?digits. False for anything else, or a number out of range.
inline bool ParseWhole(std::string_view text, WholeNumber& number) {
  const bool minus = !text.empty() && text[0] == '-';
  text.remove_prefix(minus ? 1 : 0);
  if (text.empty()) return false;
  uint64_t magnitude = 0;
  if (text.size() <= 19) {
    for (const char c : text) {
      const auto digit = static_cast<unsigned char>(c - '0');
      if (digit > 9) return false;
      magnitude = magnitude * 10 + digit;
    }
  } else if (!internal::ParseLongWhole(text, magnitude)) {
    return false;
  }
  number = {magnitude, minus && magnitude > 0};
  return !minus || magnitude <= uint64_t{1} << 63;
}

// Reads 1 to 16 hexadecimal digits.
bool ParseHex(std::string_view text, uint64_t& number);

}  // namespace tessera
#endif  // TESSERA_DATA_ROWS_NUMBER_TEXT_H_
