#ifndef TESSERA_DATA_DESCRIBE_COLUMN_PROFILE_H_
#define TESSERA_DATA_DESCRIBE_COLUMN_PROFILE_H_
// Counts, row by row, what the cells of one column hold.
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "data/describe/distinct_sample.h"
#include "data/describe/number_sample.h"
#include "data/even_sample.h"

namespace tessera {

struct ColumnProfile {
  static constexpr size_t kMaxWords = 8;
  static constexpr int64_t kMaxRows = 1 << 14;

  std::string name;
  std::string separator = {};     // between the items of a text; "": a text is one item
  std::string weight_after = {};  // between an item and its weight; "": none

  int64_t rows = 0, missing = 0;
  int64_t lists = 0;  // rows with a list of JSON
  int64_t items = 0;
  int64_t empty = 0;                // items without a text, as "a||b" has one
  int64_t whole = 0, negative = 0;  // items that are whole numbers of 64 bits; those below 0
  int64_t huge = 0;                 // whole ones beyond 2^53, which a double does not tell apart
  // Other items that are numbers, and other items of hexadecimal digits; "1e3" is both.
  int64_t numbers = 0, hexadecimal = 0;
  // Items that are no numbers, with a decimal comma or padded neither, by text; of more than
  // kMaxWords texts the first ones.
  std::map<std::string, int64_t, std::less<>> words = {};
  int64_t decimal_commas = 0;       // items that a point in place of their comma would make numbers
  int64_t thousands = 0;            // of these, items with three digits behind it
  int64_t padded = 0;               // items that are numbers but for a + before or blanks around
  int64_t dates = 0;                // items that begin with a date
  int64_t not_utf8 = 0;             // rows with bytes that are no UTF-8
  std::string first_not_utf8 = {};  // "FILE:LINE" of the first of them
  int64_t digits = -1;              // bytes of every item; -1: none yet, 0: they differ
  int64_t text_bytes = 0;
  DistinctSample distinct;
  NumberSample values;   // of numbers, whole or not
  NumberSample lengths;  // items of a row
  // Rows, the same ones of every column: the number of a row, NaN: a missing one, 0: no number.
  EvenSample<float, kMaxRows> by_row;

  int64_t present() const { return rows - missing; }
  // Whether a row may have another number of items than one, or items have weights.
  bool is_bag() const { return lists > 0 || !separator.empty() || !weight_after.empty(); }
  bool all_whole() const { return items > 0 && whole == items; }
  bool all_numbers() const { return items > 0 && whole + numbers == items; }
  // How many distinct values there are. Of up to DistinctSample::kMaxKept texts that are numbers,
  // those of one number are one value, as 0.5 and 0.50 are.
  int64_t distinct_values() const;
  // Whether each row that has it has as many numbers, not all whole, as an embedding.
  bool is_vector() const {
    return is_bag() && weight_after.empty() && all_numbers() && !all_whole() &&
           lengths.least() == lengths.greatest();
  }
  // Whether each item has equally many hexadecimal digits, and letters are among them.
  bool all_hex() const {
    return !all_numbers() && items > 0 && hexadecimal + whole == items && negative == 0 &&
           digits >= 4;
  }

  // Whether all items are numbers, some of them with a comma for the point, but for words as below.
  bool has_decimal_commas() const;
  // Whether every comma may as well be one between thousands.
  bool may_be_thousands() const;
  // Whether all items are numbers, some of them padded, but for words as below.
  bool has_padded_numbers() const;
  // Whether all items are numbers, maybe with a decimal comma or padded, but for a few words that
  // may mean a missing one, as "NA".
  bool is_numbers_but_for_words() const;

  void AddMissing();
  void AddText(std::string_view text);
  void AddList(std::span<const std::string_view> list);

 private:
  double AddItem(std::string_view item);  // the number that it is, or 0
  void AddWord(std::string_view word);
  bool WordsMayMeanMissing() const;
};

}  // namespace tessera
#endif  // TESSERA_DATA_DESCRIBE_COLUMN_PROFILE_H_
