#ifndef TESSERA_DATA_CLICK_ROW_STREAM_H_
#define TESSERA_DATA_CLICK_ROW_STREAM_H_
// A sequence of raw rows, parsed or as their text, and the range of a data set that one covers.
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "data/click_row.h"

namespace tessera {

// Rows first ≤ n < last. Rows are numbered from 0 over all files, bad lines included.
struct RowRange {
  static constexpr int64_t kEnd = std::numeric_limits<int64_t>::max();
  int64_t first = 0;
  int64_t last = kEnd;  // kEnd: to the end of the data

  // The share of the range that lies before a row of it. REQUIRES: the end is known.
  double ShareBefore(int64_t row) const {
    return static_cast<double>(row - first) / static_cast<double>(last - first);
  }

  friend bool operator==(const RowRange&, const RowRange&) = default;
};

// "0:56000", "56000:", ":1000" or ":". Throws Error saying what was expected.
RowRange ParseRowRange(const std::string& text, const std::string& flag = "rows");
std::string ToString(const RowRange& range);
// The sentence about a range that data of so many rows do not fill. files: those of the data, which
// are named; none where they are made up.
std::string PastEndText(const RowRange& range, int64_t rows,
                        std::span<const std::string> files = {});
// The range with an end, in data of so many rows. Throws Error unless they fill it.
RowRange FilledRange(RowRange range, int64_t rows, std::span<const std::string> files = {});

// A row that is not parsed yet.
struct TextLine {
  std::string text;
  std::string_view path;  // of its file, valid as long as the stream
  int64_t number = 0;     // in the file, from 1
};

template <typename Row>
class RowStream {
 public:
  virtual ~RowStream() = default;
  // Fills `row`; false after the last one.
  virtual bool Next(Row& row) = 0;
  // The number of the row after the one that Next gave last.
  virtual int64_t next_row() const = 0;
  // About what share of the rows was given out, 0 to 1; absent where nobody knows.
  virtual std::optional<double> fraction() const = 0;
  // How many of the bad rows that were left out so far lie before `row`, a next_row() or the end.
  // REQUIRES: rows of calls do not fall.
  virtual int64_t SkippedBefore(int64_t /*row*/) { return 0; }
};

using ClickRowStream = RowStream<ClickRow>;
using TextLineStream = RowStream<TextLine>;

}  // namespace tessera
#endif  // TESSERA_DATA_CLICK_ROW_STREAM_H_
