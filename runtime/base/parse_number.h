#ifndef TESSERA_RUNTIME_BASE_PARSE_NUMBER_H_
#define TESSERA_RUNTIME_BASE_PARSE_NUMBER_H_
// Numbers that are a whole text: of flags, names of files and metadata.
#include <charconv>
#include <string_view>
#include <system_error>

namespace tessera {

// Whether the text, without a space or anything else, is a number that T holds: it is then in
// `out`. Else `out` is anything.
template <typename T>
bool ParseNumber(std::string_view text, T& out) {
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, out);
  return error == std::errc() && rest == end;
}

}  // namespace tessera
#endif  // TESSERA_RUNTIME_BASE_PARSE_NUMBER_H_
