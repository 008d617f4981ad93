#include "data/files/criteo_stream.h"

#include <algorithm>

#include "data/files/criteo_line.h"
#include "runtime/base/check.h"

namespace tessera {

std::string CriteoErrorText(const std::string& where, const CriteoLineError& error,
                            std::string_view line) {
  return Format("{}: {}{}", where, Describe(error, line), line.empty() ? kSkipsBlank : "");
}

CriteoLines::CriteoLines(const std::vector<std::string>& paths, RowRange range, int64_t from)
    : lines_(paths), first_row_(range.first), range_({std::max(range.first, from), range.last}) {
  TESSERA_CHECK(!paths.empty(), "no data file was given");
}

void CriteoLines::SkipToFirst() {
  next_row_ += lines_.Skip(first_row_ - next_row_);
  fraction_before_ = lines_.fraction().value_or(0);
  next_row_ += lines_.Skip(range_.first - next_row_);
  if (next_row_ < range_.first) FilledRange(range_, next_row_, lines_.paths());
}

std::optional<double> CriteoLines::fraction() const {
  if (range_.last != RowRange::kEnd)
    return RowRange{first_row_, range_.last}.ShareBefore(next_row_);
  const std::optional<double> read = lines_.fraction();
  if (!read || fraction_before_ == 1) return read;
  return (*read - fraction_before_) / (1 - fraction_before_);
}

bool CriteoLines::NextText(std::string_view& text) {
  if (next_row_ < range_.first) SkipToFirst();
  if (next_row_ >= range_.last) return false;
  if (!lines_.Next(text)) {
    FilledRange(range_, next_row_, lines_.paths());
    return false;
  }
  ++next_row_;
  return true;
}

bool CriteoLines::Next(TextLine& line) {
  std::string_view text;
  if (!NextText(text)) return false;
  line.text = text;
  line.path = lines_.path();
  line.number = lines_.line_number();
  return true;
}

CriteoStream::CriteoStream(const CriteoFiles& files, RowRange range, int64_t from)
    : lines_(files.paths, range, from), skip_bad_lines_(files.skip_bad_lines) {}

bool CriteoStream::Next(ClickRow& row) {
  std::string_view line;
  while (lines_.NextText(line)) {
    const auto error = ParseCriteoLine(line, row);
    if (!error) return true;
    if (!skip_bad_lines_) throw Error(CriteoErrorText(lines_.where(), *error, line));
    skipped_.Add(next_row() - 1);
  }
  return false;
}

int64_t CriteoStream::SkippedBefore(int64_t row) {
  skipped_.CountBefore(row);
  return skipped_.count();
}

}  // namespace tessera
