#ifndef TESSERA_RUNTIME_JSON_UTF8_H_
#define TESSERA_RUNTIME_JSON_UTF8_H_
// UTF-8, which a document of JSON needs.
#include <string>
#include <string_view>

namespace tessera::internal {

// The bytes that some editors and spreadsheets put before the text of a file.
inline constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

// The text of a file that begins with these bytes.
inline std::string_view WithoutByteOrderMark(std::string_view begin) {
  if (begin.starts_with(kByteOrderMark)) begin.remove_prefix(kByteOrderMark.size());
  return begin;
}

bool IsUtf8(std::string_view text);

// The text with U+FFFD in place of what is no UTF-8: names of files in documents.
std::string AsUtf8(const std::string& text);

}  // namespace tessera::internal
#endif  // TESSERA_RUNTIME_JSON_UTF8_H_
