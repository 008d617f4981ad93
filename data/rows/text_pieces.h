#ifndef TESSERA_DATA_ROWS_TEXT_PIECES_H_
#define TESSERA_DATA_ROWS_TEXT_PIECES_H_
// The bytes of several text files in pieces of whole lines, in order, so that pieces can be parsed
// apart. A piece has about piece_bytes, or one line that is longer.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/files/text_file.h"

namespace tessera {

struct TextPiece {
  std::string path;
  std::vector<char> bytes;     // the text, then padding
  std::string_view text = {};  // of bytes: whole lines; the last of a file may lack its end
  int64_t first_line = 1;      // number of its first line in the file, from 1
  int64_t lines = 0;
  // The share of all bytes before this piece, and with it; absent where a file is a pipe.
  std::optional<double> fraction_before = {}, fraction = {};
};

class TextPieces {
 public:
  // The longest line, and what is said of one that is longer.
  static constexpr int64_t kMaxLineBytes = 64 << 20;
  static std::string TooLong();

  // `padding`: bytes after the text of a piece that may be read.
  explicit TextPieces(std::vector<std::string> paths, int64_t piece_bytes = 1 << 19,
                      int64_t padding = 64);
  ~TextPieces();

  // The next piece; false after the last. Every file has at least one, maybe without a line; a
  // byte order mark before its first line is left out. Throws Error naming the file for one that
  // cannot be read to its end, or has a line that is too long for memory; whoever takes lines
  // refuses others that are too long.
  bool Next(TextPiece& piece);

 private:
  void Open();
  // Reads up to `bytes` of text; fewer only at the end of the file.
  void Fill(std::vector<char>& bytes, size_t& size, size_t want);
  void SetText(TextPiece& piece, size_t size, bool ended);
  std::optional<double> ShareOf(int64_t bytes) const;

  std::vector<std::string> paths_;
  const size_t piece_bytes_, padding_;
  size_t next_path_ = 0;
  std::unique_ptr<TextFile> file_;  // null between files
  std::vector<char> rest_;          // begin of a line that a piece has left
  int64_t line_ = 1;                // number of the next line
  std::optional<int64_t> total_bytes_;
  int64_t bytes_before_ = 0;            // of the files before this one
  std::optional<double> fraction_ = 0;  // with the last piece
};

}  // namespace tessera
#endif  // TESSERA_DATA_ROWS_TEXT_PIECES_H_
