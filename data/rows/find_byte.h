#ifndef TESSERA_DATA_ROWS_FIND_BYTE_H_
#define TESSERA_DATA_ROWS_FIND_BYTE_H_
// Bytes of short texts, eight at a time, without a call: cells have about five bytes.
#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace tessera::internal {

static_assert(std::endian::native == std::endian::little);

// Bytes after a text that FindByte may read.
constexpr size_t kFindPadding = 8;

// The first `mark` in [p, end), or end. REQUIRES: kFindPadding bytes after end can be read.
inline const char* FindByte(const char* p, const char* end, char mark) {
  constexpr uint64_t kOnes = 0x0101010101010101, kHighs = 0x8080808080808080;
  const uint64_t marks = kOnes * static_cast<unsigned char>(mark);
  for (; p < end; p += 8) {
    uint64_t bytes = 0;
    std::memcpy(&bytes, p, 8);
    bytes ^= marks;
    const uint64_t zeros = (bytes - kOnes) & ~bytes & kHighs;  // right up to the first
    if (zeros == 0) continue;
    p += std::countr_zero(zeros) / 8;
    return p < end ? p : end;
  }
  return end;
}

// How many bytes of a long text are `mark`.
inline int64_t CountByte(std::string_view text, char mark) {
  constexpr size_t kBlock = 128;  // a loop of so many fixed steps is vectorized
  int64_t count = 0;
  size_t i = 0;
  for (; i + kBlock <= text.size(); i += kBlock) {
    unsigned char found = 0;
    for (size_t j = 0; j < kBlock; ++j)
      found = static_cast<unsigned char>(found + (text[i + j] == mark ? 1 : 0));
    count += found;
  }
  for (; i < text.size(); ++i) count += text[i] == mark ? 1 : 0;
  return count;
}

}  // namespace tessera::internal
#endif  // TESSERA_DATA_ROWS_FIND_BYTE_H_
