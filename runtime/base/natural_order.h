#ifndef TESSERA_RUNTIME_BASE_NATURAL_ORDER_H_
#define TESSERA_RUNTIME_BASE_NATURAL_ORDER_H_
// The order of names in lists for people: numbers inside them count as numbers, so that t2 comes
// before t10.
#include <algorithm>
#include <string_view>

namespace tessera {

struct NaturalLess {
  using is_transparent = void;

  bool operator()(std::string_view a, std::string_view b) const {
    const std::string_view left = a, right = b;
    while (!a.empty() && !b.empty()) {
      if (IsDigit(a.front()) && IsDigit(b.front())) {
        const std::string_view of_a = TakeNumber(a), of_b = TakeNumber(b);
        if (of_a.size() != of_b.size()) return of_a.size() < of_b.size();
        if (of_a != of_b) return of_a < of_b;
        continue;
      }
      if (a.front() != b.front()) return a.front() < b.front();
      a.remove_prefix(1);
      b.remove_prefix(1);
    }
    if (a.empty() != b.empty()) return a.empty();
    return left < right;  // t01 and t1
  }

 private:
  static bool IsDigit(char c) { return c >= '0' && c <= '9'; }
  // Takes the digits that `text` begins with; returns them without zeros in front.
  static std::string_view TakeNumber(std::string_view& text) {
    const auto digits = static_cast<size_t>(std::ranges::find_if_not(text, IsDigit) - text.begin());
    std::string_view number = text.substr(0, digits);
    text.remove_prefix(digits);
    number.remove_prefix(std::min(number.find_first_not_of('0'), number.size()));
    return number;
  }
};

}  // namespace tessera
#endif  // TESSERA_RUNTIME_BASE_NATURAL_ORDER_H_
