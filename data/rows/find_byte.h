#ifndef TESSERA_DATA_ROWS_FIND_BYTE_H_
#define TESSERA_DATA_ROWS_FIND_BYTE_H_
// Bytes of short texts, many at a time, without a call: cells have about five bytes.
#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace tessera::internal {

static_assert(std::endian::native == std::endian::little);

// Bytes after a text that may be read, whatever they are.
constexpr size_t kFindPadding = 64;

constexpr uint64_t kByteOnes = 0x0101010101010101, kByteHighs = kByteOnes << 7;

// The first `mark` in [p, end), or end. REQUIRES: kFindPadding bytes after end can be read.
inline const char* FindByte(const char* p, const char* end, char mark) {
  const uint64_t marks = kByteOnes * static_cast<unsigned char>(mark);
  for (; p < end; p += 8) {
    uint64_t bytes = 0;
    std::memcpy(&bytes, p, 8);
    bytes ^= marks;
    const uint64_t zeros = (bytes - kByteOnes) & ~bytes & kByteHighs;  // right up to the first
    if (zeros == 0) continue;
    p += std::countr_zero(zeros) / 8;
    return p < end ? p : end;
  }
  return end;
}

// Bit i is set where byte i of the 64 from p on is `mark`.
inline uint64_t PlacesOfByte(const char* p, char mark) {
  uint64_t places = 0;
#if defined(__SSE2__)
  const __m128i marks = _mm_set1_epi8(mark);
  for (int i = 0; i < 4; ++i) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p) + i);
    const int found = _mm_movemask_epi8(_mm_cmpeq_epi8(bytes, marks));
    places |= uint64_t{static_cast<uint32_t>(found)} << (16 * i);
  }
#else
  const uint64_t marks = kByteOnes * static_cast<unsigned char>(mark);
  for (int i = 0; i < 8; ++i) {
    uint64_t bytes = 0;
    std::memcpy(&bytes, p + 8 * i, 8);
    bytes ^= marks;
    const uint64_t others = ((bytes & ~kByteHighs) + ~kByteHighs) | bytes;  // their high bits
    // The product moves the lowest bit of byte j to bit 56 + j.
    places |= (((~others & kByteHighs) >> 7) * 0x0102040810204080 >> 56) << (8 * i);
  }
#endif
  return places;
}

// All places of a byte in a text, one after the other: where most are near, no search waits for
// the one before it, as those of FindByte do.
class ByteScan {
 public:
  // REQUIRES: kFindPadding bytes after end can be read.
  ByteScan(const char* begin, const char* end, char mark) : end_(end), mark_(mark) {
    Restart(begin);
  }

  // The next place, or the end.
  const char* Next() {
    while (found_ == 0) {
      if (end_ - block_ <= kBlock) return end_;
      Restart(block_ + kBlock);
    }
    const char* const at = block_ + std::countr_zero(found_);
    found_ &= found_ - 1;
    return at;
  }
  // Goes on at `p`. REQUIRES: it is in the text, or its end.
  void Restart(const char* p) {
    block_ = p;
    found_ = PlacesOfByte(p, mark_);
    if (end_ - p < kBlock) found_ &= ~(~uint64_t{0} << (end_ - p));
  }

 private:
  static constexpr int64_t kBlock = 64;

  const char* end_;
  char mark_;
  const char* block_ = nullptr;
  uint64_t found_ = 0;  // a bit for each byte from block_ on
};

// Adds the texts between the places of `mark` in [p, end). REQUIRES: as of ByteScan.
inline void SplitAtByte(const char* p, const char* end, char mark,
                        std::vector<std::string_view>& items) {
  ByteScan places(p, end, mark);
  for (;; ++p) {
    const char* const begin = p;
    p = places.Next();
    items.emplace_back(begin, static_cast<size_t>(p - begin));
    if (p == end) return;
  }
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
