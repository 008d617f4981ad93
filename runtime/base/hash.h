#ifndef TESSERA_RUNTIME_BASE_HASH_H_
#define TESSERA_RUNTIME_BASE_HASH_H_
// FNV-1a of 64 bits: the same number for the same text on every machine, for names and for texts
// that ranks compare.
#include <cstdint>
#include <string_view>

namespace tessera::internal {

inline uint64_t HashOf(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

}  // namespace tessera::internal
#endif  // TESSERA_RUNTIME_BASE_HASH_H_
