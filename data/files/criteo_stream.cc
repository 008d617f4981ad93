#include "data/files/criteo_stream.h"

#include <algorithm>

#include "data/files/criteo_line.h"
#include "runtime/base/check.h"

namespace tessera {

CriteoStream::CriteoStream(const CriteoFiles& files, RowRange range, int64_t from)
    : lines_(files.paths),
      skip_bad_lines_(files.skip_bad_lines),
      first_row_(range.first),
      range_({std::max(range.first, from), range.last}) {
  TESSERA_CHECK(!files.paths.empty(), "no data file was given");
}

void CriteoStream::SkipToFirst() {
  next_row_ += lines_.Skip(first_row_ - next_row_);
  fraction_before_ = lines_.fraction().value_or(0);
  next_row_ += lines_.Skip(range_.first - next_row_);
  if (next_row_ < range_.first) FilledRange(range_, next_row_, lines_.paths());
}

std::optional<double> CriteoStream::fraction() const {
  if (range_.last != RowRange::kEnd)
    return RowRange{first_row_, range_.last}.ShareBefore(next_row_);
  const std::optional<double> read = lines_.fraction();
  if (!read || fraction_before_ == 1) return read;
  return (*read - fraction_before_) / (1 - fraction_before_);
}

bool CriteoStream::Next(ClickRow& row) {
  if (next_row_ < range_.first) SkipToFirst();
  std::string_view line;
  while (next_row_ < range_.last) {
    if (!lines_.Next(line)) {
      FilledRange(range_, next_row_, lines_.paths());
      return false;
    }
    ++next_row_;
    const auto error = ParseCriteoLine(line, row);
    if (!error) return true;
    if (!skip_bad_lines_)
      throw Error(Format("{}: {}{}", lines_.where(), Describe(*error, line),
                         line.empty() ? kSkipsBlank : ""));
    ++skipped_;
  }
  return false;
}

}  // namespace tessera
