#include "data/click_row_stream.h"

#include <algorithm>
#include <string_view>

#include "runtime/base/check.h"
#include "runtime/base/parse_number.h"
#include "runtime/base/report_text.h"

namespace tessera {
namespace {

// The number in `text`, `absent` for an empty one, -1 for anything else.
int64_t ParseRow(std::string_view text, int64_t absent) {
  if (text.empty()) return absent;
  int64_t row = 0;
  return ParseNumber(text, row) ? row : -1;
}

}  // namespace

RowRange ParseRowRange(const std::string& text, const std::string& flag) {
  const size_t colon = text.find(':');
  RowRange range;
  if (colon != std::string::npos) {
    const std::string_view view(text);
    range.first = ParseRow(view.substr(0, colon), 0);
    range.last = ParseRow(view.substr(colon + 1), RowRange::kEnd);
  }
  if (colon == std::string::npos || range.first < 0 || range.last <= range.first)
    throw Error(
        Format("{}: expected FIRST:LAST with 0 <= FIRST < LAST, as in 0:56000 or 56000:, got '{}'",
               flag, text));
  return range;
}

std::string ToString(const RowRange& range) {
  return range.last == RowRange::kEnd ? Format("{}:", range.first)
                                      : Format("{}:{}", range.first, range.last);
}

std::string PastEndText(const RowRange& range, int64_t rows, std::span<const std::string> files) {
  std::string text =
      Format("rows {} were asked for, but the data has {}", range, internal::Counted(rows, "row"));
  if (files.size() == 1) text += Format(" ({})", files.front());
  if (files.size() > 1) text += Format(" ({} to {})", files.front(), files.back());
  return text;
}

RowRange FilledRange(RowRange range, int64_t rows, std::span<const std::string> files) {
  if (range.first > rows || (range.last != RowRange::kEnd && range.last > rows))
    throw Error(PastEndText(range, rows, files));
  return {range.first, std::min(range.last, rows)};
}

}  // namespace tessera
