#ifndef TESSERA_DATA_CLICK_ROW_H_
#define TESSERA_DATA_CLICK_ROW_H_
// One impression in the layout of the Criteo display-advertising data, before it meets a model: a
// label, 13 integers and 26 categorical values, any of which may be missing. What every reader and
// generator produces, and a BatchBuilder takes.
#include <cstdint>

namespace tessera {

struct ClickRow {
  static constexpr int kIntegers = 13;
  static constexpr int kCategories = 26;
  static constexpr int kColumns = 1 + kIntegers + kCategories;

  bool has_integer(int i) const { return (integers_present >> i & 1) != 0; }
  bool has_category(int i) const { return (categories_present >> i & 1) != 0; }
  friend bool operator==(const ClickRow&, const ClickRow&) = default;

  float label = 0;                        // 0 or 1
  uint32_t integers_present = 0;          // bit i: integers[i] is not missing
  uint32_t categories_present = 0;        // bit i: categories[i] is not missing
  int64_t integers[kIntegers] = {};       // 0 where missing
  uint64_t categories[kCategories] = {};  // 0 where missing
};

}  // namespace tessera
#endif  // TESSERA_DATA_CLICK_ROW_H_
