#ifndef TESSERA_DATA_ROWS_COLUMN_CELLS_H_
#define TESSERA_DATA_ROWS_COLUMN_CELLS_H_
// Lines of csv and tsv files as cells.
//
// csv (RFC 4180): a cell that begins with " ends at the next single ", "" inside is one, and then
// the cell must end; elsewhere " is a character. tsv: no quotes. A quoted cell does not go over
// lines.
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "data/rows/line_cells.h"
#include "data/rows/text_pieces.h"
#include "data/schema/data_schema.h"

namespace tessera {

// Where the columns that a schema asks for stand in the lines of one file.
struct FileColumns {
  std::vector<int32_t> cells;  // of each column: the number of its cell, or -1
  CellPlaces places;
  // The last column takes all that is left of the line, as a list where that is more than a cell:
  // the separator of an entry that reads it is the delimiter.
  bool rest = false;
};

// Throws Error, which begins with `where`, for a column of `used` that is not there.
std::shared_ptr<const FileColumns> FindColumns(const DataSchema& schema,
                                               const std::vector<std::string>& columns,
                                               const std::vector<std::string>& used,
                                               const std::string& where);

// The cells of a line. Throws Error, which begins with `where`, for a quote that does not end where
// a cell does.
std::vector<std::string> SplitLine(const DataSchema& schema, std::string_view line,
                                   const std::string& where);
// The columns that a heading names. Throws Error, which begins with `where`, for an empty one, and
// one that names two alike or ends inside a quote.
std::vector<std::string> HeadingColumns(const DataSchema& schema, std::string_view line,
                                        const std::string& where);
// Takes the heading off the first piece of a file, and returns its columns. Throws Error, naming
// file and line, as HeadingColumns, and for a file without a line.
std::vector<std::string> TakeHeading(const DataSchema& schema, TextPiece& piece);

class ColumnCells {
 public:
  explicit ColumnCells(const DataSchema& schema)
      : delimiter_(schema.delimiter),
        quotes_(schema.format == RowFormat::kCsv),
        null_(schema.null) {}

  // Fills `out` with as many cells as the schema asks for. Throws BadLine. REQUIRES: kFindPadding
  // bytes after the line can be read (find_byte.h).
  void Read(std::string_view line, const FileColumns& columns, LineCells& out) const;

 private:
  friend std::vector<std::string> SplitLine(const DataSchema&, std::string_view,
                                            const std::string&);
  // Reads a line in which every delimiter ends a cell. Returns false for another number of cells.
  bool ReadPlain(std::string_view line, const FileColumns& columns, LineCells& out) const;
  // Takes the next column of a line from `p` on, which then is at the delimiter, or the end. The
  // text of a quoted one is added to `unquoted`. `column`: its number, from 0, for errors.
  std::string_view Take(const char*& p, const char* end, size_t column,
                        std::string& unquoted) const;
  std::string_view TakeQuoted(const char*& p, const char* end, size_t column,
                              std::string& unquoted) const;
  void SetText(std::string_view text, LineCell& cell) const;
  void TakeRest(const char* p, const char* end, size_t column, LineCell& cell,
                LineCells& out) const;
  [[noreturn]] void ThrowCount(std::string_view line, size_t expected) const;

  char delimiter_;
  bool quotes_;
  std::vector<std::string> null_;
};

}  // namespace tessera
#endif  // TESSERA_DATA_ROWS_COLUMN_CELLS_H_
