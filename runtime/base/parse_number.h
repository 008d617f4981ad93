#ifndef TESSERA_RUNTIME_BASE_PARSE_NUMBER_H_
#define TESSERA_RUNTIME_BASE_PARSE_NUMBER_H_
// Numbers that are a whole text: of flags, names of files and metadata. No locale matters.
#include <charconv>
#include <clocale>
#include <cstdlib>
#include <string>
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

// The double nearest to a text that is a number as C writes it: infinite, or 0, where
// std::from_chars says result_out_of_range.
inline double NearestDouble(const std::string& number) {
  static const locale_t c = newlocale(LC_ALL_MASK, "C", locale_t{});
  return strtod_l(number.c_str(), nullptr, c);
}

}  // namespace tessera
#endif  // TESSERA_RUNTIME_BASE_PARSE_NUMBER_H_
