#ifndef TESSERA_RUNTIME_BASE_JOINED_H_
#define TESSERA_RUNTIME_BASE_JOINED_H_
// Words and numbers of a list in one text.
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

}  // namespace tessera::internal
#endif  // TESSERA_RUNTIME_BASE_JOINED_H_
