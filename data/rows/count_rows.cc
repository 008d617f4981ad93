#include "data/rows/count_rows.h"

#include "data/rows/text_pieces.h"

namespace tessera {

int64_t CountRows(const std::vector<std::string>& paths, bool headings, int64_t enough) {
  TextPieces pieces(paths);
  TextPiece piece;
  int64_t rows = 0;
  while (rows < enough && pieces.Next(piece)) {
    rows += piece.lines;
    if (headings && piece.first_line == 1 && piece.lines > 0) --rows;
  }
  return rows;
}

}  // namespace tessera
