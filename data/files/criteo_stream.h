#ifndef TESSERA_DATA_FILES_CRITEO_STREAM_H_
#define TESSERA_DATA_FILES_CRITEO_STREAM_H_
// The rows of Criteo files, in file order: several files are one data set.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/click_row_stream.h"
#include "data/files/criteo_line.h"
#include "data/files/line_reader.h"
#include "data/skipped_rows.h"

namespace tessera {

struct CriteoFiles {
  std::vector<std::string> paths;  // plain or .gz
  bool skip_bad_lines = false;     // leave them out and count them; else they are errors
};

// The lines, of which none is looked into.
class CriteoLines final : public TextLineStream {
 public:
  // Reads the lines of the range, those before row `from` left out. Throws Error for a file that
  // cannot be opened, or for no file.
  explicit CriteoLines(const std::vector<std::string>& paths, RowRange range = {},
                       int64_t from = 0);

  // Throws Error for a range that the files do not fill.
  bool Next(TextLine& line) override;
  // Without a copy: valid until the next call.
  bool NextText(std::string_view& text);
  int64_t next_row() const override { return next_row_; }
  // Where the range has no end, by the bytes that were read from its first row on.
  std::optional<double> fraction() const override;
  // "FILE:LINE" of the line that came last.
  std::string where() const { return lines_.where(); }

 private:
  void SkipToFirst();

  LineReader lines_;
  const int64_t first_row_;     // of the range
  const RowRange range_;        // that is read of it
  double fraction_before_ = 0;  // the share of the data before the range, once it is known
  int64_t next_row_ = 0;
};

class CriteoStream final : public ClickRowStream {
 public:
  // Reads the rows of the lines that CriteoLines gives.
  explicit CriteoStream(const CriteoFiles& files, RowRange range = {}, int64_t from = 0);

  // Throws Error "FILE:LINE: what was expected, what came" for a bad line, and for a range that the
  // files do not fill.
  bool Next(ClickRow& row) override;
  int64_t next_row() const override { return lines_.next_row(); }
  std::optional<double> fraction() const override { return lines_.fraction(); }
  int64_t SkippedBefore(int64_t row) override;
  // "FILE:LINE" of the row that Next gave last.
  std::string where() const { return lines_.where(); }

 private:
  CriteoLines lines_;
  const bool skip_bad_lines_;
  SkippedRows skipped_;
};

// Returns "FILE:LINE: what was expected, what came" for a bad line; where: "FILE:LINE".
std::string CriteoErrorText(const std::string& where, const CriteoLineError& error,
                            std::string_view line);

}  // namespace tessera
#endif  // TESSERA_DATA_FILES_CRITEO_STREAM_H_
