#include "runtime/base/report_text.h"

#include <algorithm>
#include <cmath>

#include "runtime/base/check.h"

namespace tessera::internal {
namespace {

// Continuation bytes of UTF-8 are no characters.
size_t Characters(const std::string& text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

}  // namespace

std::string Bytes(int64_t bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  auto number = static_cast<double>(bytes);
  int unit = 0;
  for (; std::abs(number) >= 1024 && unit < 4; ++unit) number /= 1024;
  return unit == 0 ? Format("{} B", bytes) : Format("{:.1f} {}", number, kUnits[unit]);
}

double ToGib(int64_t bytes) { return static_cast<double>(bytes) / (1 << 30); }

int64_t BytesOfGib(double gib) { return std::llround(gib * (1 << 30)); }

std::string Gib(int64_t bytes) { return Format("{:.3f}", ToGib(bytes)); }

std::string WithCommas(double number) {
  if (!std::isfinite(number)) return "-";
  std::string digits = Format("{:.0f}", number);
  const int64_t sign = digits.starts_with('-') ? 1 : 0;
  for (int64_t at = static_cast<int64_t>(digits.size()) - 3; at > sign; at -= 3)
    digits.insert(static_cast<size_t>(at), 1, ',');
  return digits;
}

std::string Counted(int64_t number, std::string_view noun) {
  return Format("{} {}{}", WithCommas(static_cast<double>(number)), noun, number == 1 ? "" : "s");
}

std::string TextTable(const std::vector<std::vector<std::string>>& rows,
                      const std::string& indent) {
  std::vector<size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], Characters(row[c]));
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (size_t c = 0; c < row.size(); ++c) {
      const std::string pad(widths[c] - Characters(row[c]), ' ');
      line += c == 0 ? indent + row[c] + pad : "  " + pad + row[c];
    }
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

std::string MarkupText(const std::string& text) {
  std::string markup;
  for (const char c : text) {
    if (c == '<')
      markup += "&lt;";
    else if (c == '>')
      markup += "&gt;";
    else if (c == '&')
      markup += "&amp;";
    else if (c == '"')
      markup += "&quot;";
    else
      markup += c;
  }
  return markup;
}

}  // namespace tessera::internal
