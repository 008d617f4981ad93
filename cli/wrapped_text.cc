#include "cli/wrapped_text.h"

#include <algorithm>

namespace tessera::cli {
namespace {

// The column at which the text described by `line`'s first words begins: behind the first two
// spaces that follow a word. Without such spaces, the column at which the line begins.
size_t Indent(std::string_view line) {
  const size_t begin = std::min(line.find_first_not_of(' '), line.size());
  if (begin == 0) return 0;
  const size_t gap = line.find("  ", begin);
  return gap == std::string_view::npos ? begin : line.find_first_not_of(' ', gap);
}

void AppendWrapped(std::string_view line, std::string& out) {
  const size_t indent = Indent(line);
  std::string now(line.substr(0, std::min(line.find_first_not_of(' '), line.size())));
  bool has_word = false;
  for (size_t at = now.size(); at < line.size();) {
    size_t end = std::min(line.find(' ', at), line.size());
    // Lists of values have no spaces.
    if (TextWidth(line.substr(at, end - at)) > kTextColumns - indent)
      end = std::min(line.find(',', at), end - 1) + 1;
    // Spaces between columns stay with the word before them.
    const size_t next = std::min(line.find_first_not_of(' ', end), line.size());
    const std::string_view word = line.substr(at, end - at);
    if (has_word && TextWidth(now) + TextWidth(word) > kTextColumns) {
      out += now.substr(0, now.find_last_not_of(' ') + 1) + "\n";
      now = std::string(indent, ' ');
    }
    now += word;
    now += line.substr(end, next - end);
    has_word = true;
    at = next;
  }
  out += now;
}

}  // namespace

size_t TextWidth(std::string_view text) {
  const auto begins = [](char byte) { return (byte & 0xc0) != 0x80; };  // a character
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), begins));
}

std::string Wrapped(std::string_view text) {
  std::string out;
  bool example = false;
  while (true) {
    const size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    example = line.starts_with("Example") || (example && !line.empty());
    if (TextWidth(line) <= kTextColumns || example || line.starts_with("  tessera "))
      out += line;
    else
      AppendWrapped(line, out);
    if (end == std::string_view::npos) return out;
    out += '\n';
    text.remove_prefix(end + 1);
  }
}

}  // namespace tessera::cli
