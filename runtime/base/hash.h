#ifndef TESSERA_RUNTIME_BASE_HASH_H_
#define TESSERA_RUNTIME_BASE_HASH_H_
// Hashes that are the same numbers on every machine: FNV-1a of a text, for names and for texts that
// ranks compare, and a mix of a number's bits.
#include <cstdint>
#include <string_view>

#include "runtime/base/host_device.h"

namespace tessera::internal {

inline uint64_t HashOf(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

// 2^64 divided by the golden ratio, made odd: its multiples are spread evenly.
inline constexpr uint64_t kGoldenRatio = 0x9e3779b97f4a7c15u;

// Steele and Vigna's mix 13, the last steps of splitmix64: a bijection.
TESSERA_HD uint64_t MixedBits(uint64_t bits) {
  bits = (bits ^ bits >> 30) * 0xbf58476d1ce4e5b9u;
  bits = (bits ^ bits >> 27) * 0x94d049bb133111ebu;
  return bits ^ bits >> 31;
}

}  // namespace tessera::internal
#endif  // TESSERA_RUNTIME_BASE_HASH_H_
