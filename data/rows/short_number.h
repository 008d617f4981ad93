#ifndef TESSERA_DATA_ROWS_SHORT_NUMBER_H_
#define TESSERA_DATA_ROWS_SHORT_NUMBER_H_
// Numbers of one to eight digits, which those of cells mostly are, from their text: all digits at
// once, so that no branch depends on how many there are. number_text.h reads any other number.
//
// All functions: false for any other text. REQUIRES: eight bytes from its first on can be read.
#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace tessera::internal {

static_assert(std::endian::native == std::endian::little);

// Eight characters, the first of which is the lowest byte: those of the text, '0' before them.
// REQUIRES: 1 ≤ text.size() ≤ 8.
inline uint64_t EightDigits(std::string_view text) {
  uint64_t bytes = 0;
  std::memcpy(&bytes, text.data(), 8);
  const size_t before = 8 * (8 - text.size());  // bits
  return bytes << before | (0x3030303030303030 & ~(~uint64_t{0} << before));
}

// Reads decimal digits.
inline bool ReadShortWhole(std::string_view text, uint64_t& number) {
  if (text.size() - 1 >= 8) return false;
  uint64_t digits = EightDigits(text);
  constexpr uint64_t kHigh = 0xf0f0f0f0f0f0f0f0;
  if (((digits & kHigh) | ((digits + 0x0606060606060606) & kHigh) >> 4) != 0x3333333333333333)
    return false;
  digits = (digits & 0x0f0f0f0f0f0f0f0f) * (1 + (10 << 8)) >> 8;  // two digits in each 16 bits
  digits = (digits & 0x00ff00ff00ff00ff) * (1 + (100 << 16)) >> 16;
  number = (digits & 0x0000ffff0000ffff) * (1 + (uint64_t{10000} << 32)) >> 32;
  return true;
}

// Reads hexadecimal digits.
inline bool ReadShortHex(std::string_view text, uint64_t& number) {
  if (text.size() - 1 >= 8) return false;
  uint64_t digits = EightDigits(text);
  constexpr uint64_t kOnes = 0x0101010101010101, kTops = 0x80 * kOnes;
  // The top bit of each byte that is `low` or more. No byte is above 0x7f.
  const auto from = [&](uint64_t bytes, uint64_t low) { return bytes + (0x80 - low) * kOnes; };
  const uint64_t letters = (digits & 0x4040404040404040) >> 6;  // 1 where one may be
  const uint64_t small = digits | letters << 5;
  const uint64_t good =
      (from(small, '0') & ~from(small, '9' + 1)) | (from(small, 'a') & ~from(small, 'f' + 1));
  if ((digits & kTops) != 0 || (good & kTops) != kTops) return false;
  digits = (digits & 0x0f0f0f0f0f0f0f0f) + 9 * letters;
  digits = (digits * (1 + (16 << 8)) >> 8) & 0x00ff00ff00ff00ff;  // two digits in each 16 bits
  digits = (digits * (1 + (256 << 16)) >> 16) & 0x0000ffff0000ffff;
  number = digits * (1 + (uint64_t{65536} << 32)) >> 32;
  return true;
}

}  // namespace tessera::internal
#endif  // TESSERA_DATA_ROWS_SHORT_NUMBER_H_
