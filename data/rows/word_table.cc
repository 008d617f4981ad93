#include "data/rows/word_table.h"

#include <bit>

#include "data/rows/text_hash.h"
#include "runtime/base/check.h"

namespace tessera {

WordTable::WordTable(std::vector<std::string> words) : words_(std::move(words)) {
  TESSERA_CHECK_LT(words_.size(), size_t{1} << 30, "words");
  slots_.resize(std::bit_ceil(2 * words_.size() + 2));
  for (size_t i = 0; i < words_.size(); ++i) {
    if (Find(words_[i]) >= 0) continue;
    const uint64_t hash = internal::TableHash(words_[i]);
    size_t at = hash & (slots_.size() - 1);
    while (slots_[at].place >= 0) at = (at + 1) & (slots_.size() - 1);
    slots_[at] = {static_cast<uint32_t>(hash >> 32), static_cast<int32_t>(i)};
  }
}

int64_t WordTable::Find(std::string_view word) const {
  if (slots_.empty()) return -1;
  const uint64_t hash = internal::TableHash(word);
  for (size_t at = hash & (slots_.size() - 1); slots_[at].place >= 0;
       at = (at + 1) & (slots_.size() - 1))
    if (slots_[at].hash == static_cast<uint32_t>(hash >> 32) &&
        words_[static_cast<size_t>(slots_[at].place)] == word)
      return slots_[at].place;
  return -1;
}

}  // namespace tessera
