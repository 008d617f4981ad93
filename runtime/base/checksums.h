#ifndef TESSERA_RUNTIME_BASE_CHECKSUMS_H_
#define TESSERA_RUNTIME_BASE_CHECKSUMS_H_
// CRC-32, as zlib and gzip have it: it finds what a disk or a hand has changed, not what an enemy
// has.
#include <cstdint>
#include <string>
#include <string_view>

namespace tessera {

// CRC-32 of bytes that follow those whose checksum is `so_far`, which is 0 at first.
uint32_t Crc32(uint32_t so_far, const void* bytes, int64_t count);

// CRC-32 of bytes in memory or in a mapped file, read by `threads` threads; 0 means all cores.
uint32_t ParallelCrc32(const void* bytes, int64_t count, int threads);

// 8 hexadecimal digits.
inline constexpr int64_t kCrc32Digits = 8;
std::string Crc32Text(uint32_t crc);
std::string Crc32TextOf(std::string_view bytes);

}  // namespace tessera
#endif  // TESSERA_RUNTIME_BASE_CHECKSUMS_H_
