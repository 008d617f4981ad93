#include "data/files/criteo_stream.h"

#include "data/files/criteo_line.h"
#include "runtime/base/check.h"

namespace tessera {

CriteoStream::CriteoStream(const CriteoFiles& files, RowRange range)
    : lines_(files.paths), skip_bad_lines_(files.skip_bad_lines), range_(range) {
  TESSERA_CHECK(!files.paths.empty(), "no data file was given");
}

void CriteoStream::SkipToFirst() {
  next_row_ += lines_.Skip(range_.first - next_row_);
  if (next_row_ < range_.first) FilledRange(range_, next_row_, lines_.paths());
}

double CriteoStream::fraction() const {
  return range_.last == RowRange::kEnd ? lines_.fraction() : range_.ShareBefore(next_row_);
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
    if (!skip_bad_lines_) throw Error(Format("{}: {}", lines_.where(), Describe(*error, line)));
    ++skipped_;
  }
  return false;
}

}  // namespace tessera
