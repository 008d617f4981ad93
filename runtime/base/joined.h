#ifndef TESSERA_RUNTIME_BASE_JOINED_H_
#define TESSERA_RUNTIME_BASE_JOINED_H_
// Words and numbers of a list in one text.
#include <cstddef>
#include <functional>
#include <iterator>
#include <string>
#include <string_view>
#include <type_traits>

namespace tessera::internal {

// "a, b or c" for the last words " or ".
template <typename List>
std::string Joined(const List& list, std::string_view between, std::string_view last) {
  std::string text;
  const auto end = std::end(list);
  for (auto at = std::begin(list); at != end;) {
    if constexpr (std::is_arithmetic_v<std::decay_t<decltype(*at)>>)
      text += std::to_string(*at);
    else
      text += *at;
    if (++at == end) break;
    auto after = at;
    text += ++after == end ? last : between;
  }
  return text;
}

// "a, b, c".
template <typename List>
std::string Joined(const List& list, std::string_view between = ", ") {
  return Joined(list, between, between);
}

// "a, b and 3 more", with the first `most` items of a list. text_of: the text of an item.
template <typename List, typename TextOf = std::identity>
std::string JoinedFirst(const List& list, size_t most, TextOf text_of = {}) {
  std::string text;
  size_t named = 0;
  for (const auto& item : list) {
    if (named == most) return text + " and " + std::to_string(std::size(list) - most) + " more";
    text += (named++ == 0 ? "" : ", ") + text_of(item);
  }
  return text;
}

// An item in quotes, for JoinedFirst.
inline std::string InQuotes(const std::string& text) { return "'" + text + "'"; }

}  // namespace tessera::internal
#endif  // TESSERA_RUNTIME_BASE_JOINED_H_
