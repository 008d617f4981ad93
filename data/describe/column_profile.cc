#include "data/describe/column_profile.h"

#include "data/rows/number_text.h"

namespace tessera {
namespace {

constexpr uint64_t kMostOfDoubles = uint64_t{1} << 53;  // whole numbers up to it are exact

}  // namespace

void ColumnProfile::AddMissing() {
  ++rows;
  ++missing;
}

void ColumnProfile::AddText(std::string_view text) {
  ++rows;
  if (separator.empty()) {
    lengths.Add(1);
    return AddItem(text);
  }
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
  for (const std::string_view item : list) AddItem(item);
  lengths.Add(static_cast<double>(list.size()));
}

void ColumnProfile::AddItem(std::string_view item) {
  if (!weight_after.empty()) item = item.substr(0, item.rfind(weight_after));
  ++items;
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
    if (number.magnitude > kMostOfDoubles) ++huge;
    return;
  }
  if (is_number) ++numbers;
  uint64_t bits = 0;
  if (ParseHex(item, bits)) ++hexadecimal;
}

}  // namespace tessera
