#include "cli/runs/short_values.h"

#include <algorithm>
#include <cstddef>

namespace tessera::cli {
namespace {

constexpr size_t kShown = 60;   // bytes of a value
constexpr size_t kBefore = 20;  // of them what all have in common, before what differs

// The place, or one before it, where a character of UTF-8 begins.
size_t CharacterAt(const std::string& text, size_t place) {
  while (place > 0 && place < text.size() && (text[place] & 0xC0) == 0x80) --place;
  return place;
}

size_t CommonBeginning(const std::vector<std::string>& values) {
  size_t common = std::string::npos;
  const std::string* first = nullptr;
  for (const std::string& value : values) {
    if (value.size() <= kShown) continue;
    if (first == nullptr) first = &value;
    const auto differs = std::ranges::mismatch(*first, value).in1;
    common = std::min(common, static_cast<size_t>(differs - first->begin()));
  }
  return common;
}

}  // namespace

std::vector<std::string> ShortValues(const std::vector<std::string>& values) {
  const size_t common = CommonBeginning(values);
  std::vector<std::string> shown = values;
  for (std::string& value : shown) {
    if (value.size() <= kShown) continue;
    const size_t at = std::min(common, value.size() - kShown / 2);
    const size_t from = at > kBefore ? CharacterAt(value, at - kBefore) : 0;
    const size_t end = CharacterAt(value, std::min(value.size(), from + kShown));
    value =
        (from > 0 ? "…" : "") + value.substr(from, end - from) + (end < value.size() ? "…" : "");
  }
  return shown;
}

}  // namespace tessera::cli
