#include "data/rows/bad_line.h"

#include <algorithm>

#include "runtime/base/check.h"

namespace tessera {
namespace {

std::string Cut(std::string_view text, size_t most) {
  if (text.size() <= most) return std::string(text);
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xc0) == 0x80) --most;
  return std::string(text.substr(0, most)) + "…";
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

std::string ShownText(std::string_view text) { return Format("'{}'", Cut(text, 40)); }

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
