#ifndef TESSERA_DATA_ROWS_WORD_TABLE_H_
#define TESSERA_DATA_ROWS_WORD_TABLE_H_
// Finds the place of a word in a list: open addressing, half empty. Words of up to 16 bytes, which
// most are, are compared as two numbers. Any thread may look words up.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

class WordTable {
 public:
  WordTable() = default;
  // If a word occurs twice, its first place counts.
  explicit WordTable(std::vector<std::string> words);

  // The place of the word in the list; -1 where it is not there.
  int64_t Find(std::string_view word) const;
  // Does what Find does, faster. REQUIRES: 16 bytes from the word's first on can be read.
  int64_t FindPadded(std::string_view word) const {
    return word.size() > kShort ? Find(word) : FindKey(ShortKey(word), word);
  }
  const std::vector<std::string>& words() const { return words_; }

 private:
  static constexpr size_t kShort = 16;
  // A short word's bytes, zeros after them, or another word's hash.
  struct Key {
    uint64_t low = 0, high = 0;
    uint64_t size = 0;
    bool operator==(const Key&) const = default;
  };
  struct Slot {
    Key key = {};
    int64_t place = -1;  // -1: free
  };

  static Key ShortKey(std::string_view word);
  static Key KeyOf(std::string_view word);
  // The slot to begin at.
  size_t FirstSlot(const Key& key) const;
  int64_t FindKey(const Key& key, std::string_view word) const;

  std::vector<std::string> words_;
  std::vector<Slot> slots_;  // a power of two of them
};

}  // namespace tessera
#endif  // TESSERA_DATA_ROWS_WORD_TABLE_H_
