#include "cli/show/numbers.h"

#include <algorithm>
#include <cmath>

#include "runtime/base/check.h"

namespace tessera::cli {
namespace {

constexpr int kBarWidth = 24;

}  // namespace

std::string Share(int64_t part, int64_t all) {
  const double percent = all == 0 ? 0 : 100 * static_cast<double>(part) / static_cast<double>(all);
  return part > 0 && percent < 1 ? "< 1 %" : Fixed(percent, 0) + " %";
}

std::string Duration(double seconds) {
  const int64_t s = static_cast<int64_t>(std::min(seconds, 1e9) + 0.5);
  if (s >= 3600) return Format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
  return Format("{}:{:02}", s / 60, s % 60);
}

std::string Bar(double fraction) {
  const int filled = std::clamp(static_cast<int>(fraction * kBarWidth + 0.5), 0, kBarWidth);
  return "[" + std::string(static_cast<size_t>(filled), '#') +
         std::string(static_cast<size_t>(kBarWidth - filled), '-') + "]";
}

std::string Fixed(double number, int digits) {
  return std::isnan(number) ? "-" : Format("{:.{}f}", number, digits);
}

}  // namespace tessera::cli
