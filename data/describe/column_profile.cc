#include "data/describe/column_profile.h"

#include <algorithm>
#include <array>
#include <limits>
#include <set>

#include "data/describe/date_text.h"
#include "data/rows/number_text.h"

namespace tessera {
namespace {

constexpr int64_t kManyNumbers = 20;  // so many distinct ones are no categories beside words
constexpr size_t kBrief = 12;         // bytes of a word
constexpr uint64_t kMaxExactWhole = uint64_t{1} << 53;  // whole numbers up to it are exact

// Words for a missing number, or for one that is not finite.
bool MeansMissing(std::string_view word) {
  constexpr std::array<std::string_view, 23> kWords = {
      "NA",   "N/A",  "n/a",  "na",       "NULL",      "Null", "null", "NaN",
      "nan",  "None", "none", "-",        "?",         "\\N",  "inf",  "-inf",
      "+inf", "Inf",  "-Inf", "Infinity", "-Infinity", "NAN",  "INF"};
  return std::find(kWords.begin(), kWords.end(), word) != kWords.end();
}

// The text without blanks around it and a + before it.
std::string_view WithoutPadding(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  return text;
}

bool IsPaddedNumber(std::string_view item) {
  const std::string_view text = WithoutPadding(item);
  double number = 0;
  return text != item && ParseNumber(text, number) == NumberFault::kNone;
}

// Whether three digits end the item behind its last comma, as in 11,129.
bool EndsInThousands(std::string_view item) {
  const size_t comma = item.rfind(',');
  return comma != item.npos && item.size() - comma == 4;
}

}  // namespace

int64_t ColumnProfile::distinct_values() const {
  if (!all_numbers() || huge > 0 || !distinct.exact()) return distinct.count();
  std::set<double> numbers;  // in which -0.0 and 0.0 are one
  for (const DistinctSample::Entry& entry : distinct.Entries()) {
    double number = 0;
    if (ParseNumber(entry.text, number) != NumberFault::kNone) return distinct.count();
    numbers.insert(number);
  }
  return std::ssize(numbers);
}

bool ColumnProfile::WordsMayMeanMissing() const {
  if (words.empty() || words.size() >= kMaxWords) return false;
  const bool known = std::all_of(words.begin(), words.end(),
                                 [](const auto& word) { return MeansMissing(word.first); });
  const bool brief = std::all_of(words.begin(), words.end(),
                                 [](const auto& word) { return word.first.size() <= kBrief; });
  return known || (brief && distinct.count() > kManyNumbers + std::ssize(words));
}

bool ColumnProfile::may_be_thousands() const { return thousands == decimal_commas; }

bool ColumnProfile::has_decimal_commas() const {
  const bool all = whole + numbers + decimal_commas + padded == items;
  return decimal_commas > 0 && (all || is_numbers_but_for_words());
}

bool ColumnProfile::has_padded_numbers() const {
  const bool all = whole + numbers + decimal_commas + padded == items;
  return padded > 0 && (all || is_numbers_but_for_words());
}

bool ColumnProfile::is_numbers_but_for_words() const {
  const int64_t all = whole + numbers + decimal_commas + padded;
  return !is_bag() && !all_hex() && all > 0 && WordsMayMeanMissing();
}

void ColumnProfile::AddMissing() {
  ++rows;
  ++missing;
  by_row.Add(std::numeric_limits<float>::quiet_NaN());
}

void ColumnProfile::AddText(std::string_view text) {
  ++rows;
  if (separator.empty()) {
    lengths.Add(1);
    by_row.Add(static_cast<float>(AddItem(text)));
    return;
  }
  by_row.Add(0);
  int64_t count = 1;
  for (size_t end; (end = text.find(separator)) != text.npos; ++count) {
    AddItem(text.substr(0, end));
    text.remove_prefix(end + separator.size());
  }
  AddItem(text);
  lengths.Add(static_cast<double>(count));
}

void ColumnProfile::AddList(std::span<const std::string_view> list) {
  ++rows;
  ++lists;
  by_row.Add(0);
  for (const std::string_view item : list) AddItem(item);
  lengths.Add(static_cast<double>(list.size()));
}

double ColumnProfile::AddItem(std::string_view item) {
  if (!weight_after.empty()) item = item.substr(0, item.rfind(weight_after));
  ++items;
  if (item.empty()) ++empty;
  text_bytes += std::ssize(item);
  distinct.Add(item);
  const auto bytes = static_cast<int64_t>(item.size());
  digits = digits == -1 || digits == bytes ? bytes : 0;
  double real = 0;
  const bool is_number = ParseNumber(item, real) == NumberFault::kNone;
  if (is_number) values.Add(real);
  WholeNumber number;
  if (ParseWhole(item, number)) {
    ++whole;
    if (number.negative) ++negative;
    if (number.magnitude > kMaxExactWhole) ++huge;
    return real;
  }
  if (is_number)
    ++numbers;
  else if (HasDecimalComma(item)) {
    ++decimal_commas;
    if (EndsInThousands(item)) ++thousands;
  } else if (IsPaddedNumber(item))
    ++padded;
  else
    AddWord(item);
  if (!is_number && internal::BeginsWithDate(item)) ++dates;
  uint64_t bits = 0;
  if (ParseHex(item, bits)) ++hexadecimal;
  return is_number ? real : 0;
}

void ColumnProfile::AddWord(std::string_view word) {
  const auto at = words.find(word);
  if (at != words.end())
    ++at->second;
  else if (words.size() < kMaxWords)
    words.emplace(word, 1);
}

}  // namespace tessera
