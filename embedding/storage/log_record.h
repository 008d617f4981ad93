#ifndef TESSERA_EMBEDDING_STORAGE_LOG_RECORD_H_
#define TESSERA_EMBEDDING_STORAGE_LOG_RECORD_H_
// The header of each record of a row log: whose record it is, and a checksum of both.
//
//   sum   per word w of 8 bytes, the last one filled with zeros, in turn for one of four lanes:
//         lane = (lane xor w) * odd, which any change of one word changes; the lanes are folded,
//         then the upper half with the lower. About 60 ns for a record of 512 bytes.
#include <cstdint>
#include <cstring>

namespace tessera::internal {

struct LogRecordHeader {
  uint32_t row, sum;
};

inline uint32_t LogRecordSum(uint32_t row, const char* record, int64_t bytes) {
  constexpr uint64_t kOdd[4] = {0x9e3779b97f4a7c15u, 0xbf58476d1ce4e5b9u, 0x94d049bb133111ebu,
                                0xd6e8feb86659fd93u};
  uint64_t lanes[4] = {row, kOdd[1], kOdd[2], static_cast<uint64_t>(bytes)};
  const auto add = [&](int lane, const char* from, size_t count) {
    uint64_t word = 0;
    std::memcpy(&word, from, count);
    lanes[lane] = (lanes[lane] ^ word) * kOdd[lane];
  };
  int64_t at = 0;
  for (; at + 32 <= bytes; at += 32)
    for (int lane = 0; lane < 4; ++lane) add(lane, record + at + 8 * lane, 8);
  for (int lane = 0; at < bytes; ++lane, at += 8)
    add(lane, record + at, static_cast<size_t>(bytes - at < 8 ? bytes - at : 8));
  uint64_t sum = 0;
  for (const uint64_t lane : lanes) sum = (sum ^ lane ^ (lane >> 29)) * kOdd[0];
  return static_cast<uint32_t>(sum ^ (sum >> 32));
}

inline LogRecordHeader HeaderOf(int64_t row, const char* record, int64_t bytes) {
  const auto number = static_cast<uint32_t>(row);
  return {number, LogRecordSum(number, record, bytes)};
}

}  // namespace tessera::internal
#endif  // TESSERA_EMBEDDING_STORAGE_LOG_RECORD_H_
