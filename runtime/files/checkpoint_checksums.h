#ifndef TESSERA_RUNTIME_FILES_CHECKPOINT_CHECKSUMS_H_
#define TESSERA_RUNTIME_FILES_CHECKPOINT_CHECKSUMS_H_
// Checksums of a tensor's pieces, so that a part of it can be read and checked without the rest.
#include <memory>
#include <string>
#include <vector>

#include "runtime/files/safetensors.h"

namespace tessera {

inline constexpr int64_t kChecksumBytes = 1 << 20;  // of a piece; the last one may be shorter

// Length of a tensor's checksums as text: CRC-32 of each piece, 8 hexadecimal digits, one after the
// other.
int64_t ChecksumDigits(int64_t bytes);

// Makes the checksums of bytes that come in order, in pieces of any length.
class Checksums {
 public:
  void Add(const void* bytes, int64_t count);
  // The text. Nothing may be added afterwards.
  std::string Finish();

 private:
  void EndPiece();

  std::string digits_;
  uint32_t crc_ = 0;
  int64_t in_piece_ = 0;
};

// A tensor of a file, read piece by piece, each of which is checked. Keeps one piece in memory. One
// thread at a time.
class CheckedTensor {
 public:
  // `name` is what errors call it. REQUIRES: checksums of the entry's length.
  CheckedTensor(std::shared_ptr<const SafetensorsFile> file, const SafetensorsEntry& entry,
                std::string checksums, std::string name);

  int64_t nbytes() const { return entry_.nbytes(); }
  // Throws Error for a file that cannot be read, or whose bytes are not what was written.
  void Read(int64_t begin, int64_t count, void* out);

 private:
  void Load(int64_t piece);

  std::shared_ptr<const SafetensorsFile> file_;
  SafetensorsEntry entry_;
  std::string checksums_, name_;
  std::vector<char> bytes_;
  int64_t loaded_ = -1;  // which piece
};

}  // namespace tessera
#endif  // TESSERA_RUNTIME_FILES_CHECKPOINT_CHECKSUMS_H_
