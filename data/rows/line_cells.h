#ifndef TESSERA_DATA_ROWS_LINE_CELLS_H_
#define TESSERA_DATA_ROWS_LINE_CELLS_H_
// The cells of one line that a schema asks for, in the same form whatever the format: missing, a
// text, or a list of texts. Texts are borrowed from the line, or from who made the cells, and
// kFindPadding bytes after their ends can be read (find_byte.h).
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

// Takes a line, without its "\n" or "\r\n", from the begin of `text`.
std::string_view TakeLine(std::string_view& text);

struct LineCell {
  enum class Kind : uint8_t { kMissing, kText, kList };
  Kind kind = Kind::kMissing;
  std::string_view text = {};   // of kText
  size_t begin = 0, count = 0;  // of kList, in LineCells::items
};

// Whether a cell of this text is missing: it is empty, or one of those that mean so.
inline bool IsMissing(std::string_view text, const std::vector<std::string>& null) {
  if (text.empty()) return true;
  for (const std::string& missing : null)
    if (text == missing) return true;
  return false;
}

struct LineCells {
  std::vector<LineCell> cells;  // one for each column that is asked for
  std::vector<std::string_view> items;

  std::span<const std::string_view> ItemsOf(const LineCell& cell) const {
    return std::span(items).subspan(cell.begin, cell.count);
  }
};

// "user, item, price"; of very many columns the first ones, and their number.
std::string ListedColumns(const std::vector<std::string>& columns);

// The name of a cell in errors: "user", or, in a file with columns, "column 4 (user)"; an item of a
// list is "user[2]".
class CellPlaces {
 public:
  // `columns`: the number of each cell's column, counted from 0; empty: lines have none.
  explicit CellPlaces(std::vector<std::string> names, std::vector<int64_t> columns = {})
      : names_(std::move(names)), columns_(std::move(columns)) {}

  // `item`: -1: the whole cell.
  std::string Of(size_t cell, int64_t item = -1) const;
  const std::string& name(size_t cell) const { return names_[cell]; }

 private:
  std::vector<std::string> names_;
  std::vector<int64_t> columns_;
};

}  // namespace tessera
#endif  // TESSERA_DATA_ROWS_LINE_CELLS_H_
