#ifndef TESSERA_DATA_ROWS_TEXT_HASH_H_
#define TESSERA_DATA_ROWS_TEXT_HASH_H_
// Hashes of texts. For .cc files: public headers include no xxHash.
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstdint>
#include <string_view>

namespace tessera::internal {

// The id of a text: XXH64 with seed 0, the same everywhere and in every language.
inline uint64_t TextId(std::string_view text) { return XXH64(text.data(), text.size(), 0); }
// A hash for tables in memory.
inline uint64_t TableHash(std::string_view text) { return XXH3_64bits(text.data(), text.size()); }

}  // namespace tessera::internal
#endif  // TESSERA_DATA_ROWS_TEXT_HASH_H_
