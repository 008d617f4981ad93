#ifndef TESSERA_DATA_FILES_LINE_READER_H_
#define TESSERA_DATA_FILES_LINE_READER_H_
// The lines of several files, plain or gzip, read in order as one stream in big blocks.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/files/text_file.h"

namespace tessera {

// The end of an error about a blank line, of any reader of lines.
inline constexpr char kSkipsBlank[] = "; --skip-bad-lines leaves blank lines out";

class LineReader {
 public:
  // Opens every file once, so that a wrong name is an error now. A line of more than `block_bytes`
  // is an error.
  explicit LineReader(std::vector<std::string> paths, int64_t block_bytes = 1 << 20);
  ~LineReader();
  LineReader(const LineReader&) = delete;
  LineReader& operator=(const LineReader&) = delete;

  // The next line without its "\n" or "\r\n", valid until the next call; false after the last one.
  // The last line of a file may lack its end; a byte order mark before its first line is left out.
  // Throws Error naming the file for one that cannot be read to its end (a truncated or corrupt
  // .gz).
  bool Next(std::string_view& line);
  // Leaves out up to `count` lines; returns how many there were.
  int64_t Skip(int64_t count);

  const std::vector<std::string>& paths() const { return paths_; }
  // About what share of the (compressed) bytes of all files was given out, 0 to 1; absent where one
  // of them is a pipe.
  std::optional<double> fraction() const;
  // The file of the line that Next returned last, and its number in it, from 1.
  const std::string& path() const { return paths_[next_path_ - 1]; }
  int64_t line_number() const { return line_number_; }
  // "FILE:LINE" of it.
  std::string where() const;

 private:
  bool FillBlock();
  double BytesGiven() const;
  void OpenNextFile();
  std::string_view TakeLine(size_t length);
  bool HasRest() const;

  std::vector<std::string> paths_;
  size_t next_path_ = 0;
  std::unique_ptr<TextFile> file_;  // null before the first file and after the last
  std::vector<char> block_;
  size_t begin_ = 0, end_ = 0;                 // bytes of block_ not yet given out
  int64_t line_number_ = 0;                    // of the last line given out, in its file
  std::optional<int64_t> total_bytes_;         // of all files
  int64_t bytes_before_ = 0, bytes_read_ = 0;  // of the files before this one; so far
  // When the block was filled last: bytes of files that were given out, and text in the block.
  double given_then_ = 0;
  size_t filled_ = 0;
};

}  // namespace tessera
#endif  // TESSERA_DATA_FILES_LINE_READER_H_
