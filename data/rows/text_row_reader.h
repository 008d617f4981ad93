#ifndef TESSERA_DATA_ROWS_TEXT_ROW_READER_H_
#define TESSERA_DATA_ROWS_TEXT_ROW_READER_H_
// Reads rows of a user's own text files (jsonl, csv, tsv) by the rules of a schema. Pieces of text
// are parsed on several threads, ahead of who asks, and given out in the order of the files: what
// comes, and the error that ends it, are the same with any number of threads. Memory is bounded by
// some pieces a thread.
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/click_row_stream.h"
#include "data/ordered_work.h"
#include "data/rows/row_block.h"
#include "data/rows/row_rules.h"
#include "data/rows/text_pieces.h"
#include "data/rows/unknown_items.h"
#include "data/split/row_split.h"
#include "runtime/context.h"

namespace tessera {

struct FileColumns;

struct RowFiles {
  std::vector<std::string> paths;  // plain, .gz or .zst; several are one data set
  bool skip_bad_lines = false;     // leave them out and count them; else they are errors
  int threads = 1;                 // that parse, that of who asks included; 0: all cores
  int64_t piece_bytes = 1 << 18;   // its rows fit a core's cache
  std::shared_ptr<UnknownItems> unknown_items = nullptr;  // counts those of the rows that are given
  std::shared_ptr<const RowFilter> filter = nullptr;      // gives the rows of its part alone
  // Blocks have lines, of which Parse makes rows. Not with skip_bad_lines or a filter, which give
  // rows by what they have.
  bool lines_alone = false;
};

class TextRowReader {
 public:
  // Reads the rows of the range, those before row `from` left out; a row is a line other than a
  // heading. Throws Error for a file that cannot be opened, or no file. REQUIRES: rules of text,
  // with what the filter goes by.
  TextRowReader(std::shared_ptr<const RowRules> rules, const RowFiles& files, RowRange range = {},
                int64_t from = 0);
  ~TextRowReader();
  TextRowReader(const TextRowReader&) = delete;
  TextRowReader& operator=(const TextRowReader&) = delete;

  // The next rows, some or none; null after the last ones. Throws Error "FILE:LINE: what was
  // expected, what came" when all rows before a bad line were given, and for a range that the files
  // do not fill.
  std::shared_ptr<const RowBlock> Next();
  // Parses the rows of runs of lines, in their order, on all threads. Throws Error as Next for the
  // first bad line.
  std::vector<std::shared_ptr<const RowBlock>> Parse(std::span<const RowRun> runs);

  // The reader has a context of its own, as it may run on another thread than the model: of one
  // thread, beside those that parse ahead, unless Parse does that.
  Context& context() { return ctx_; }

  // About what share of the range's bytes, to the end of the data, Next has given; absent where a
  // file is a pipe.
  std::optional<double> fraction() const { return fraction_; }
  // Bad lines in what Next gave; beside a random filter, those of its part.
  int64_t skipped_rows() const { return skipped_rows_; }
  const BadLineCounts& skipped() const { return skipped_; }

 private:
  struct Piece;  // a piece of text on its way to a block
  class Parser;  // of pieces, a thread at a time
  class Blocks;  // that were given out and may be filled again

  // Reads a piece of which rows are wanted; false at the end.
  bool ReadPiece(Piece& piece);
  void ParsePiece(size_t slot);
  void BeginFile(TextPiece& text);
  RowShare ShareOf(const RowLines& lines);
  void FindKey();
  bool TakesLine(int64_t row) const;
  bool TakesLastRow(const RowBlock& block) const;

  std::shared_ptr<const RowRules> rules_;
  const RowFiles files_;
  const int64_t first_row_;  // of the range
  const RowRange range_;     // that is read of it
  size_t key_ = 0;           // the feature that the filter goes by
  TextPieces text_;
  Context ctx_;
  std::shared_ptr<const FileColumns> columns_;  // of the file that is read
  int64_t next_row_ = 0;                        // of the next piece
  double fraction_before_ = 0;  // the share of the data before the range, once it is known
  std::shared_ptr<Blocks> blocks_;
  std::vector<std::unique_ptr<Parser>> parsers_;  // of each slot
  std::vector<Piece> pieces_;
  std::string error_;  // of the last block
  std::optional<double> fraction_ = 0;
  int64_t skipped_rows_ = 0;
  BadLineCounts skipped_;
  std::optional<OrderedWork> work_;  // its threads end before what they use
};

}  // namespace tessera
#endif  // TESSERA_DATA_ROWS_TEXT_ROW_READER_H_
