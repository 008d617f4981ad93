#include "runtime/files/checkpoint_checksums.h"

#include <algorithm>
#include <cstring>

#include "runtime/base/check.h"
#include "runtime/base/checksums.h"

namespace tessera {
namespace {

constexpr int64_t kDigits = kCrc32Digits;

}  // namespace

int64_t ChecksumDigits(int64_t bytes) {
  return (bytes + kChecksumBytes - 1) / kChecksumBytes * kDigits;
}

void Checksums::Add(const void* bytes, int64_t count) {
  const char* at = static_cast<const char*>(bytes);
  while (count > 0) {
    const int64_t taken = std::min(count, kChecksumBytes - in_piece_);
    crc_ = Crc32(crc_, at, taken);
    in_piece_ += taken;
    at += taken;
    count -= taken;
    if (in_piece_ == kChecksumBytes) EndPiece();
  }
}

void Checksums::EndPiece() {
  digits_ += Crc32Text(crc_);
  crc_ = 0;
  in_piece_ = 0;
}

std::string Checksums::Finish() {
  if (in_piece_ > 0) EndPiece();
  return std::move(digits_);
}

CheckedTensor::CheckedTensor(std::shared_ptr<const SafetensorsFile> file,
                             const SafetensorsEntry& entry, std::string checksums, std::string name)
    : file_(std::move(file)),
      entry_(entry),
      checksums_(std::move(checksums)),
      name_(std::move(name)) {
  TESSERA_CHECK_EQ(static_cast<int64_t>(checksums_.size()), ChecksumDigits(entry.nbytes()),
                   "{}: digits of checksums", name_);
}

void CheckedTensor::Load(int64_t piece) {
  const int64_t begin = piece * kChecksumBytes;
  loaded_ = -1;
  bytes_.resize(static_cast<size_t>(std::min(kChecksumBytes, nbytes() - begin)));
  const int64_t count = static_cast<int64_t>(bytes_.size());
  file_->ReadBytes(entry_, begin, count, bytes_.data());
  const std::string expected = checksums_.substr(static_cast<size_t>(piece * kDigits), kDigits);
  const std::string got = Crc32Text(Crc32(0, bytes_.data(), count));
  if (got != expected)
    throw Error(
        Format("{}: it is corrupt: bytes {} to {} have the checksum {}, and had {} when "
               "they were written",
               name_, begin, begin + count, got, expected));
  loaded_ = piece;
}

void CheckedTensor::Read(int64_t begin, int64_t count, void* out) {
  char* to = static_cast<char*>(out);
  while (count > 0) {
    const int64_t piece = begin / kChecksumBytes, offset = begin % kChecksumBytes;
    if (piece != loaded_) Load(piece);
    const int64_t taken = std::min(count, static_cast<int64_t>(bytes_.size()) - offset);
    std::memcpy(to, bytes_.data() + offset, static_cast<size_t>(taken));
    to += taken;
    begin += taken;
    count -= taken;
  }
}

}  // namespace tessera
