#include "data/files/criteo_line.h"

#include <array>
#include <charconv>
#include <limits>

#include "runtime/base/check.h"

namespace tessera {
namespace {

constexpr char kLabelExpected[] = "a label, 0 or 1";
constexpr char kIntegerExpected[] = "an integer";
constexpr char kValueExpected[] = "a hexadecimal value of at most 16 digits";
constexpr char kColumnsExpected[] = "40 columns separated by tabs";

constexpr uint8_t kNoDigit = 255;

constexpr std::array<uint8_t, 256> HexDigits() {
  std::array<uint8_t, 256> digits{};
  digits.fill(kNoDigit);
  for (int i = 0; i < 10; ++i) digits[static_cast<size_t>('0' + i)] = static_cast<uint8_t>(i);
  for (int i = 0; i < 6; ++i) {
    digits[static_cast<size_t>('a' + i)] = static_cast<uint8_t>(10 + i);
    digits[static_cast<size_t>('A' + i)] = static_cast<uint8_t>(10 + i);
  }
  return digits;
}
constexpr std::array<uint8_t, 256> kHexDigits = HexDigits();

// Walks the columns of a line. Each Read… consumes one column up to its tab or the line's end, and
// says whether it was good.
class ColumnReader {
 public:
  explicit ColumnReader(std::string_view line)
      : at_(line.data()), end_(line.data() + line.size()) {}

  bool AtColumnEnd() const { return at_ == end_ || *at_ == '\t'; }
  bool AtLineEnd() const { return at_ == end_; }
  // Steps over a tab. False at the line's end.
  bool NextColumn() {
    if (at_ == end_) return false;
    ++at_;
    return true;
  }

  bool ReadLabel(float& label) {
    if (at_ == end_ || (*at_ != '0' && *at_ != '1')) return false;
    label = static_cast<float>(*at_++ - '0');
    return AtColumnEnd();
  }

  // REQUIRES: !AtColumnEnd().
  bool ReadInteger(int64_t& integer) {
    const bool negative = *at_ == '-';
    at_ += negative;
    uint64_t magnitude = 0;
    const char* const begin = at_;
    for (; !AtColumnEnd(); ++at_) {
      const unsigned digit = static_cast<unsigned>(*at_ - '0');
      if (digit > 9 || at_ - begin >= 18) return false;  // 18 digits always fit
      magnitude = magnitude * 10 + digit;
    }
    integer = negative ? -static_cast<int64_t>(magnitude) : static_cast<int64_t>(magnitude);
    return at_ != begin;
  }

  // REQUIRES: !AtColumnEnd().
  bool ReadHexadecimal(uint64_t& value) {
    const char* const begin = at_;
    uint64_t v = 0;
    for (; !AtColumnEnd(); ++at_) {
      const uint8_t digit = kHexDigits[static_cast<uint8_t>(*at_)];
      if (digit == kNoDigit) return false;
      v = v << 4 | digit;
    }
    value = v;
    return at_ - begin <= 16;
  }

 private:
  const char* at_;
  const char* end_;
};

std::string ColumnName(int column) {
  if (column == 0) return "label";
  if (column <= ClickRow::kIntegers) return Format("integer {}", column);
  return Format("category {}", column - ClickRow::kIntegers);
}

std::string_view ColumnText(std::string_view line, int column) {
  for (; column > 0; --column) line.remove_prefix(line.find('\t') + 1);
  return line.substr(0, line.find('\t'));
}

}  // namespace

std::optional<CriteoLineError> ParseCriteoLine(std::string_view line, ClickRow& row) {
  ColumnReader reader(line);
  row.integers_present = row.categories_present = 0;
  if (!reader.ReadLabel(row.label)) return CriteoLineError{0, kLabelExpected};
  for (int i = 0; i < ClickRow::kIntegers; ++i) {
    if (!reader.NextColumn()) return CriteoLineError{0, kColumnsExpected};
    row.integers[i] = 0;
    if (reader.AtColumnEnd()) continue;
    row.integers_present |= 1u << i;
    if (!reader.ReadInteger(row.integers[i])) return CriteoLineError{1 + i, kIntegerExpected};
  }
  for (int i = 0; i < ClickRow::kCategories; ++i) {
    if (!reader.NextColumn()) return CriteoLineError{0, kColumnsExpected};
    row.categories[i] = 0;
    if (reader.AtColumnEnd()) continue;
    row.categories_present |= 1u << i;
    if (!reader.ReadHexadecimal(row.categories[i]))
      return CriteoLineError{1 + ClickRow::kIntegers + i, kValueExpected};
  }
  if (!reader.AtLineEnd()) return CriteoLineError{0, kColumnsExpected};
  return std::nullopt;
}

std::string Describe(const CriteoLineError& error, std::string_view line) {
  if (error.expected == kColumnsExpected) {
    int64_t columns = 1;
    for (const char c : line) columns += c == '\t';
    return Format("expected {}, got {}", error.expected, columns);
  }
  std::string_view text = ColumnText(line, error.column);
  constexpr size_t kShown = 40;
  return Format("column {} ({}): expected {}, got '{}{}'", error.column + 1,
                ColumnName(error.column), error.expected, text.substr(0, kShown),
                text.size() > kShown ? "…" : "");
}

void AppendCriteoLine(const ClickRow& row, std::string& text) {
  char digits[24];
  text += row.label != 0 ? '1' : '0';
  for (int i = 0; i < ClickRow::kIntegers; ++i) {
    text += '\t';
    if (!row.has_integer(i)) continue;
    text.append(digits, std::to_chars(digits, std::end(digits), row.integers[i]).ptr);
  }
  for (int i = 0; i < ClickRow::kCategories; ++i) {
    text += '\t';
    if (!row.has_category(i)) continue;
    const uint64_t value = row.categories[i];
    const int width = value > std::numeric_limits<uint32_t>::max() ? 16 : 8;
    for (int shift = 4 * (width - 1); shift >= 0; shift -= 4)
      text += "0123456789abcdef"[value >> shift & 15];
  }
  text += '\n';
}

}  // namespace tessera
