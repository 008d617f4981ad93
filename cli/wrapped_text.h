#ifndef TESSERA_CLI_WRAPPED_TEXT_H_
#define TESSERA_CLI_WRAPPED_TEXT_H_
// Help texts that end at column 100. CLI11 writes each description on one line.
#include <cstddef>
#include <string>
#include <string_view>

namespace tessera::cli {

inline constexpr size_t kTextColumns = 100;

// The number of characters of UTF-8.
size_t TextWidth(std::string_view text);

// Breaks lines at spaces before column 100. What follows goes on below the text that the line's
// first words describe, or below the line's begin. Examples stay as they are: they are pasted.
std::string Wrapped(std::string_view text);

}  // namespace tessera::cli
#endif  // TESSERA_CLI_WRAPPED_TEXT_H_
