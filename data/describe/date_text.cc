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

}  // namespace tessera::internal
