#include "cli/numbers.h"

#include <algorithm>
#include <cmath>

#include "runtime/check.h"

namespace tessera::cli {
namespace {

constexpr int kBarWidth = 24;

std::string Padded(const std::string& cell, size_t width, bool to_left) {
  const std::string space(width - std::min(width, cell.size()), ' ');
  return to_left ? cell + space : space + cell;
}

}  // namespace

std::string WithCommas(double number) {
  if (!std::isfinite(number)) return "-";
  std::string digits = Format("{:.0f}", number);
  const int64_t sign = digits.starts_with('-') ? 1 : 0;
  for (int64_t at = static_cast<int64_t>(digits.size()) - 3; at > sign; at -= 3)
    digits.insert(static_cast<size_t>(at), ",");
  return digits;
}

std::string Duration(double seconds) {
  const int64_t s = static_cast<int64_t>(std::min(seconds, 1e9) + 0.5);
  if (s >= 3600) return Format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
  return Format("{}:{:02}", s / 60, s % 60);
}

std::string Bytes(int64_t bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double number = static_cast<double>(bytes);
  int unit = 0;
  for (; number >= 1024 && unit < 4; ++unit) number /= 1024;
  return unit == 0 ? Format("{} B", bytes) : Format("{:.1f} {}", number, kUnits[unit]);
}

std::string Bar(double fraction) {
  const int filled = std::clamp(static_cast<int>(fraction * kBarWidth + 0.5), 0, kBarWidth);
  return "[" + std::string(static_cast<size_t>(filled), '#') +
         std::string(static_cast<size_t>(kBarWidth - filled), '-') + "]";
}

std::string Fixed(double number, int digits) {
  return std::isnan(number) ? "-" : Format("{:.{}f}", number, digits);
}

std::string TextTable(const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (size_t c = 0; c < row.size(); ++c)
      line += (c == 0 ? "" : "  ") + Padded(row[c], widths[c], c == 0);
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

}  // namespace tessera::cli
