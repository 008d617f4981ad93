#include "tests/fuzz/mutator.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <string_view>

namespace tessera::fuzz {
namespace {

constexpr size_t kMaxBytes = 1 << 16;

constexpr std::string_view kNumbers[] = {"0",
                                         "-1",
                                         "1",
                                         "255",
                                         "2147483647",
                                         "2147483648",
                                         "4294967296",
                                         "-2147483649",
                                         "9223372036854775807",
                                         "9223372036854775808",
                                         "-9223372036854775808",
                                         "18446744073709551616",
                                         "1e400",
                                         "-0.0",
                                         "0.5",
                                         "1e-320",
                                         "99999999999999999999999999999999"};
constexpr std::string_view kWords[] = {"null", "true",    "[]", "{}",          "\"\"", "[[",
                                       "]]",   "{\"a\":", ",",  "\"\\u0000\"", "\xff", "\t",
                                       "\n",   "..",      "/",  "NaN",         "\"x\""};

// SplitMix64.
class Numbers {
 public:
  explicit Numbers(uint64_t seed) : state_(seed) {}
  uint64_t Next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  size_t Below(size_t n) { return n == 0 ? 0 : static_cast<size_t>(Next() % n); }
  template <typename T, size_t n>
  const T& OneOf(const T (&of)[n]) {
    return of[Below(n)];
  }

 private:
  uint64_t state_;
};

bool IsDigit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

// Replaces a run of digits somewhere, or inserts a number.
void ChangeNumber(Numbers& numbers, std::string& text) {
  const size_t from = numbers.Below(text.size());
  const auto begin = std::find_if(text.begin() + static_cast<ptrdiff_t>(from), text.end(), IsDigit);
  const auto end = std::find_if_not(begin, text.end(), IsDigit);
  text.replace(begin, end, numbers.OneOf(kNumbers));
}

// A number of bytes from `at` on, mostly few.
size_t RunLength(Numbers& numbers, const std::string& text, size_t at) {
  const size_t most = numbers.Below(4) == 0 ? text.size() : 16;
  return std::min(text.size() - at, 1 + numbers.Below(most));
}

void ChangeByte(Numbers& numbers, std::string& text) {
  if (text.empty()) return;
  char& c = text[numbers.Below(text.size())];
  const auto bits = static_cast<unsigned char>(c);
  c = static_cast<char>(numbers.Below(2) == 0 ? bits ^ (1u << numbers.Below(8)) : numbers.Next());
}

void CopyRun(Numbers& numbers, const std::string& from, std::string& text) {
  if (from.empty()) return;
  const size_t at = numbers.Below(from.size());
  const std::string run = from.substr(at, RunLength(numbers, from, at));
  text.insert(numbers.Below(text.size() + 1), run);
}

void CutRun(Numbers& numbers, std::string& text) {
  if (text.empty()) return;
  const size_t at = numbers.Below(text.size());
  text.erase(at, RunLength(numbers, text, at));
}

// Eight bytes as a number, as lengths and offsets of binary formats are.
void ChangeWord64(Numbers& numbers, std::string& text) {
  if (text.size() < 8) return;
  const size_t at = numbers.Below(2) == 0 ? 0 : numbers.Below(text.size() - 7);
  const uint64_t values[] = {0,          1,          text.size(),          text.size() - 8,
                             1ull << 31, 1ull << 32, 1ull << 63,           ~0ull,
                             ~0ull - 7,  ~0ull >> 1, numbers.Next() % 1000};
  const uint64_t value = numbers.OneOf(values);
  for (size_t i = 0; i < 8; ++i) text[at + i] = static_cast<char>(value >> (8 * i));
}

}  // namespace

std::string Mutator::Make(uint64_t round) const {
  Numbers numbers(round);
  std::string text = good_[numbers.Below(good_.size())];
  const size_t changes = 1 + numbers.Below(4);
  for (size_t i = 0; i < changes; ++i) {
    switch (numbers.Below(8)) {
      case 0:
        ChangeByte(numbers, text);
        break;
      case 1:
      case 2:
        ChangeNumber(numbers, text);
        break;
      case 3:
        text.insert(numbers.Below(text.size() + 1), numbers.OneOf(kWords));
        break;
      case 4:
        CopyRun(numbers, text, text);
        break;
      case 5:
        CopyRun(numbers, good_[numbers.Below(good_.size())], text);
        break;
      case 6:
        CutRun(numbers, text);
        break;
      default:
        ChangeWord64(numbers, text);
    }
  }
  text.resize(std::min(text.size(), kMaxBytes));
  return text;
}

}  // namespace tessera::fuzz
