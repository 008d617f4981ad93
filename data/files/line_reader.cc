#include "data/files/line_reader.h"

#include <cmath>
#include <cstring>

#include "runtime/base/check.h"
#include "runtime/json/utf8.h"

namespace tessera {

LineReader::LineReader(std::vector<std::string> paths, int64_t block_bytes)
    : paths_(std::move(paths)), block_(static_cast<size_t>(block_bytes)) {
  TESSERA_CHECK_GE(block_bytes, 2, "block_bytes");
  total_bytes_ = BytesOnDisk(paths_);
}

LineReader::~LineReader() = default;

// Bytes of files, of which those of the block go out as its text does.
double LineReader::BytesGiven() const {
  const auto read = static_cast<double>(bytes_read_);
  if (filled_ == 0) return read;
  return std::lerp(given_then_, read, static_cast<double>(begin_) / static_cast<double>(filled_));
}

std::optional<double> LineReader::fraction() const {
  if (!total_bytes_) return {};
  return *total_bytes_ == 0 ? 1 : BytesGiven() / static_cast<double>(*total_bytes_);
}

std::string LineReader::where() const {
  return Format("{}:{}", next_path_ == 0 ? std::string("(no file)") : paths_[next_path_ - 1],
                line_number_);
}

void LineReader::OpenNextFile() {
  file_ = std::make_unique<TextFile>(paths_[next_path_++]);
  bytes_before_ = bytes_read_;
  begin_ = end_ = filled_ = 0;
  line_number_ = 0;
}

// Moves what is left to the front and reads more behind it; false at the end of the file.
bool LineReader::FillBlock() {
  given_then_ = BytesGiven();
  if (end_ > begin_) std::memmove(block_.data(), block_.data() + begin_, end_ - begin_);
  end_ -= begin_;
  begin_ = 0;
  if (end_ == block_.size())
    throw Error(Format("{}:{}: the line is longer than {} bytes", paths_[next_path_ - 1],
                       line_number_ + 1, end_));
  const size_t bytes = file_->Read(block_.data() + end_, block_.size() - end_);
  end_ += bytes;
  filled_ = end_;
  bytes_read_ = bytes_before_ + file_->offset();
  return bytes > 0;
}

// The next `length` bytes as a line; the caller steps over the "\n".
std::string_view LineReader::TakeLine(size_t length) {
  std::string_view line(block_.data() + begin_, length);
  begin_ += length;
  if (line_number_++ == 0) line = internal::WithoutByteOrderMark(line);
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  return line;
}

// Whether the block has a line that lacks its end: more than a byte order mark alone.
bool LineReader::HasRest() const {
  const std::string_view rest(block_.data() + begin_, end_ - begin_);
  return !(line_number_ == 0 ? internal::WithoutByteOrderMark(rest) : rest).empty();
}

bool LineReader::Next(std::string_view& line) {
  size_t searched = 0;  // bytes after begin_ known to hold no "\n"
  while (true) {
    if (file_ == nullptr) {
      if (next_path_ == paths_.size()) return false;
      OpenNextFile();
      searched = 0;
    }
    const char* const from = block_.data() + begin_ + searched;
    const void* const newline =
        end_ > begin_ + searched ? std::memchr(from, '\n', end_ - begin_ - searched) : nullptr;
    if (newline != nullptr) {
      line = TakeLine(
          static_cast<size_t>(static_cast<const char*>(newline) - (block_.data() + begin_)));
      ++begin_;
      return true;
    }
    searched = end_ - begin_;
    if (FillBlock()) continue;
    file_ = nullptr;
    if (!HasRest()) continue;
    line = TakeLine(end_ - begin_);
    return true;
  }
}

int64_t LineReader::Skip(int64_t count) {
  std::string_view line;
  for (int64_t skipped = 0; skipped < count; ++skipped)
    if (!Next(line)) return skipped;
  return count;
}

}  // namespace tessera
