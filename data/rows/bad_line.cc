#include "data/rows/bad_line.h"

#include <algorithm>

#include "runtime/base/check.h"

namespace tessera {
namespace {

constexpr size_t kShown = 40;  // bytes of a text

// `at`, or the first byte of the character that it is inside of.
size_t BeginOfCharacter(std::string_view text, size_t at) {
  while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80) --at;
  return at;
}

std::string Cut(std::string_view text, size_t most) {
  if (text.size() <= most) return std::string(text);
  return std::string(text.substr(0, BeginOfCharacter(text, most))) + "…";
}

std::string Sentence(std::string_view place, std::string_view reason, std::string_view got) {
  std::string text = place.empty() ? "" : Format("{}: ", place);
  text += reason;
  if (!got.empty()) text += Format(", got {}", got);
  return text;
}

}  // namespace

BadLine::BadLine(std::string_view place, std::string reason, std::string_view got)
    : std::runtime_error(Sentence(place, reason, got)), reason_(std::move(reason)) {}

BadLine::BadLine(std::string reason, std::string_view got)
    : std::runtime_error(Sentence({}, reason, got)), reason_(std::move(reason)) {}

std::string ShownText(std::string_view text) {
  std::string shown = Cut(text, kShown);
  for (size_t at; (at = shown.find('\0')) != shown.npos;) shown.replace(at, 1, "\\0");
  return Format("'{}'", shown);
}

std::string ShownAround(std::string_view text, size_t at) {
  constexpr size_t kBefore = kShown * 3 / 4;
  if (text.size() <= kShown || at <= kBefore) return ShownText(text);
  const size_t begin = BeginOfCharacter(text, std::min(at, text.size() - 1) - kBefore);
  return "'…" + ShownText(text.substr(begin)).substr(1);
}

std::string ShownJson(std::string_view json) {
  std::string dense;
  bool quoted = false;
  for (size_t i = 0; i < json.size() && dense.size() <= 60; ++i) {
    const char c = json[i];
    if (quoted || (c != ' ' && c != '\t' && c != '\n' && c != '\r')) dense += c;
    if (quoted && c == '\\' && i + 1 < json.size()) dense += json[++i];
    if (c == '"') quoted = !quoted;
  }
  return Cut(dense, 60);
}

}  // namespace tessera
