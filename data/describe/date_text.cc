#include "data/describe/date_text.h"

#include <cstddef>

namespace tessera::internal {
namespace {

// Takes the digits at the begin of the text; returns how many.
size_t TakeDigits(std::string_view& text) {
  size_t count = 0;
  while (count < text.size() && text[count] >= '0' && text[count] <= '9') ++count;
  text.remove_prefix(count);
  return count;
}

bool IsDayOrMonth(size_t digits) { return digits == 1 || digits == 2; }

}  // namespace

bool BeginsWithDate(std::string_view text) {
  const size_t first = TakeDigits(text);
  const char mark = text.empty() ? ' ' : text[0];
  if (mark != '-' && mark != '/' && mark != '.') return false;
  text.remove_prefix(1);
  const size_t second = TakeDigits(text);
  if (text.empty() || text[0] != mark) return false;
  text.remove_prefix(1);
  const size_t third = TakeDigits(text);
  const bool year_is_first = first == 4 && IsDayOrMonth(third);
  const bool year_is_last = third == 4 && IsDayOrMonth(first);
  return IsDayOrMonth(second) && (year_is_first || year_is_last);
}

bool IsTimeOfDay(std::string_view text) {
  const std::string_view hour = text.substr(0, text.find(':'));
  const auto is_number = [](std::string_view digits, const char* most) {
    std::string_view rest = digits;
    return TakeDigits(rest) == 2 && rest.empty() && digits <= most;
  };
  if (!(hour.size() == 1 ? hour >= "0" && hour <= "9" : is_number(hour, "23"))) return false;
  text.remove_prefix(hour.size());
  size_t parts = 0;
  for (; text.starts_with(':') && is_number(text.substr(1, 2), "59"); ++parts)
    text.remove_prefix(3);
  return text.empty() && (parts == 1 || parts == 2);
}

}  // namespace tessera::internal
