#ifndef TESSERA_DATA_ROWS_WORD_TABLE_H_
#define TESSERA_DATA_ROWS_WORD_TABLE_H_
// Finds the place of a word in a list: open addressing over hashes, half empty. Any thread may
// look words up.
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
  const std::vector<std::string>& words() const { return words_; }

 private:
  struct Slot {
    uint32_t hash = 0;
    int32_t place = -1;  // -1: free
  };
  std::vector<std::string> words_;
  std::vector<Slot> slots_;  // a power of two of them
};

}  // namespace tessera
#endif  // TESSERA_DATA_ROWS_WORD_TABLE_H_
