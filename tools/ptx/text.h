#ifndef TESSERA_TOOLS_PTX_TEXT_H_
#define TESSERA_TOOLS_PTX_TEXT_H_
// Pieces of PTX text, below instructions: words, lists, numbers, declarations.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/ptx/module.h"

namespace ptx {

// Whether a name may hold this character.
bool IsNameChar(char c);
std::string_view Trim(std::string_view s);
// Without comments; lines stay where they were.
std::string WithoutComments(std::string_view s);
std::vector<std::string_view> Words(std::string_view s);
// The parts between commas that no bracket surrounds.
std::vector<std::string_view> SplitList(std::string_view s);
// A number's bits: 12, -3, 0x1F, 0f3F800000 (a float), 0d… (a double).
std::optional<uint64_t> ParseNumber(std::string_view s);

// The meaning of `.shared .align 16 .b8 name[64]` or of `.param .u64 name`.
struct Declaration {
  std::string name;
  Type type;
  uint64_t bytes = 0, align = 1;
  bool open = false;  // an array without a size
};
Declaration ParseDeclaration(std::string_view s);

inline uint64_t RoundUp(uint64_t n, uint64_t unit) { return (n + unit - 1) / unit * unit; }

}  // namespace ptx
#endif  // TESSERA_TOOLS_PTX_TEXT_H_
