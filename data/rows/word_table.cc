#include "data/rows/word_table.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "data/rows/text_hash.h"
#include "runtime/base/check.h"

namespace tessera {

static_assert(std::endian::native == std::endian::little);

WordTable::WordTable(std::vector<std::string> words) : words_(std::move(words)) {
  TESSERA_CHECK_LT(words_.size(), size_t{1} << 30, "words");
  slots_.resize(std::bit_ceil(2 * words_.size() + 2));
  for (size_t i = 0; i < words_.size(); ++i) {
    const Key key = KeyOf(words_[i]);
    if (FindKey(key, words_[i]) >= 0) continue;
    size_t at = FirstSlot(key);
    while (slots_[at].place >= 0) at = (at + 1) & (slots_.size() - 1);
    slots_[at] = {key, static_cast<int64_t>(i)};
  }
}

WordTable::Key WordTable::ShortKey(std::string_view word) {
  Key key{.size = word.size()};
  std::memcpy(&key.low, word.data(), 8);
  std::memcpy(&key.high, word.data() + 8, 8);
  const auto first = [](uint64_t bytes, size_t count) {
    return count >= 8 ? bytes : bytes & ~(~uint64_t{0} << (8 * count));
  };
  key.low = first(key.low, word.size());
  key.high = first(key.high, word.size() - std::min<size_t>(word.size(), 8));
  return key;
}

WordTable::Key WordTable::KeyOf(std::string_view word) {
  if (word.size() > kShort) return {.low = internal::TableHash(word), .size = word.size()};
  char padded[kShort] = {};
  std::copy(word.begin(), word.end(), padded);
  return ShortKey({padded, word.size()});
}

size_t WordTable::FirstSlot(const Key& key) const {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(key.low ^ 0x9e3779b97f4a7c15) *
                       (key.high ^ (key.size * 0xbf58476d1ce4e5b9) ^ 0x94d049bb133111eb);
  return static_cast<size_t>(product ^ product >> 64) & (slots_.size() - 1);
}

int64_t WordTable::FindKey(const Key& key, std::string_view word) const {
  if (slots_.empty()) return -1;
  for (size_t at = FirstSlot(key); slots_[at].place >= 0; at = (at + 1) & (slots_.size() - 1)) {
    const Slot& slot = slots_[at];
    if (slot.key == key &&
        (word.size() <= kShort || words_[static_cast<size_t>(slot.place)] == word))
      return slot.place;
  }
  return -1;
}

int64_t WordTable::Find(std::string_view word) const { return FindKey(KeyOf(word), word); }

}  // namespace tessera
