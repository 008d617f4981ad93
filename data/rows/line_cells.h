#ifndef TESSERA_DATA_ROWS_LINE_CELLS_H_
#define TESSERA_DATA_ROWS_LINE_CELLS_H_
// The cells of one line that a schema asks for, in the same form whatever the format: missing, a
// text, or a list of texts. Texts are borrowed from the line, from `unquoted`, or from who made the
// cells, and kFindPadding bytes after their ends can be read (find_byte.h).
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
  const char* data = nullptr;  // of a text
  uint32_t count = 0;          // bytes of a text, items of a list; no line has more
  uint32_t begin : 30 = 0;     // of a list, in LineCells::items
  Kind kind : 2 = Kind::kMissing;

  // REQUIRES: a text, or a missing one.
  std::string_view text() const { return {data, count}; }
};

inline LineCell TextCell(std::string_view text) {
  return LineCell{.data = text.data(),
                  .count = static_cast<uint32_t>(text.size()),
                  .kind = LineCell::Kind::kText};
}

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
  std::string unquoted;  // the texts of quoted cells

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
