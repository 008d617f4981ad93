#include "data/rows/text_pieces.h"

#include <algorithm>
#include <cstring>

#include "data/rows/find_byte.h"
#include "runtime/base/check.h"
#include "runtime/json/utf8.h"

namespace tessera {
namespace {

// The bytes up to the last end of a line; 0 without any.
size_t WholeLines(const std::vector<char>& bytes, size_t size) {
  const void* const last = size == 0 ? nullptr : memrchr(bytes.data(), '\n', size);
  return last == nullptr ? 0
                         : static_cast<size_t>(static_cast<const char*>(last) - bytes.data()) + 1;
}

}  // namespace

TextPieces::TextPieces(std::vector<std::string> paths, int64_t piece_bytes, int64_t padding)
    : paths_(std::move(paths)),
      piece_bytes_(static_cast<size_t>(piece_bytes)),
      padding_(static_cast<size_t>(padding)) {
  TESSERA_CHECK(!paths_.empty(), "no data file was given");
  TESSERA_CHECK_GE(piece_bytes, 1, "bytes of a piece");
  total_bytes_ = BytesOnDisk(paths_);
}

TextPieces::~TextPieces() = default;

std::string TextPieces::TooLong() {
  return Format("the line is longer than {} bytes", kMaxLineBytes);
}

void TextPieces::Open() {
  file_ = std::make_unique<TextFile>(paths_[next_path_++]);
  rest_.clear();
  line_ = 1;
}

void TextPieces::Fill(std::vector<char>& bytes, size_t& size, size_t want) {
  if (bytes.size() < want + padding_) bytes.resize(want + padding_);
  while (size < want) {
    const size_t more = file_->Read(bytes.data() + size, want - size);
    if (more == 0) return;
    size += more;
  }
}

std::optional<double> TextPieces::ShareOf(int64_t bytes) const {
  if (!total_bytes_) return {};
  return *total_bytes_ == 0 ? 1 : static_cast<double>(bytes) / static_cast<double>(*total_bytes_);
}

void TextPieces::SetText(TextPiece& piece, size_t size, bool ended) {
  const size_t whole = ended ? size : WholeLines(piece.bytes, size);
  rest_.assign(piece.bytes.begin() + static_cast<int64_t>(whole),
               piece.bytes.begin() + static_cast<int64_t>(size));
  piece.text = {piece.bytes.data(), whole};
  piece.path = paths_[next_path_ - 1];
  piece.first_line = line_;
  if (line_ == 1) piece.text = internal::WithoutByteOrderMark(piece.text);
  piece.lines = internal::CountByte(piece.text, '\n');
  if (!piece.text.empty() && piece.text.back() != '\n') ++piece.lines;
  line_ += piece.lines;
  piece.fraction_before = fraction_;
  piece.fraction = fraction_ = ShareOf(bytes_before_ + (ended ? file_->bytes() : file_->offset()));
}

bool TextPieces::Next(TextPiece& piece) {
  if (file_ == nullptr) {
    if (next_path_ == paths_.size()) return false;
    Open();
  }
  size_t size = rest_.size(), want = std::max(piece_bytes_, 2 * size);
  if (piece.bytes.size() < size) piece.bytes.resize(size);
  std::copy(rest_.begin(), rest_.end(), piece.bytes.begin());
  for (;; want *= 2) {
    Fill(piece.bytes, size, want);
    if (size < want || WholeLines(piece.bytes, size) > 0) break;
    if (size > static_cast<size_t>(kMaxLineBytes))
      throw Error(Format("{}:{}: {}", paths_[next_path_ - 1], line_, TooLong()));
  }
  const bool ended = size < want;
  SetText(piece, size, ended);
  if (ended) {
    bytes_before_ += file_->bytes();
    file_ = nullptr;
  }
  return true;
}

}  // namespace tessera
