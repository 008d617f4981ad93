#include "cli/latencies.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "cli/show/numbers.h"
#include "runtime/base/check.h"

namespace tessera::cli {
namespace {

std::string Time(double seconds) {
  if (seconds < 999.5e-6) return Format("{:.0f} us", seconds * 1e6);
  return seconds < 0.9995 ? Format("{:.1f} ms", seconds * 1e3) : Format("{:.2f} s", seconds);
}

}  // namespace

double Latencies::Quantile(double share) const {
  if (seconds_.empty()) return std::numeric_limits<double>::quiet_NaN();
  std::vector<double> sorted = seconds_;
  const auto rank = static_cast<size_t>(std::ceil(share * static_cast<double>(sorted.size())));
  const auto at =
      sorted.begin() + static_cast<ptrdiff_t>(std::clamp<size_t>(rank, 1, sorted.size()) - 1);
  std::nth_element(sorted.begin(), at, sorted.end());
  return *at;
}

std::string Latencies::Text() const {
  if (seconds_.empty()) return "no calls\n";
  std::map<int, size_t> bins;  // [2^k, 2^(k+1)) microseconds
  for (const double s : seconds_) ++bins[std::max(0, std::ilogb(std::max(s * 1e6, 1.0)))];
  size_t most = 0;
  for (const auto& [k, count] : bins) most = std::max(most, count);
  std::string text = Format("p50 {}  p99 {}  p99.9 {}\n", Time(Quantile(0.5)), Time(Quantile(0.99)),
                            Time(Quantile(0.999)));
  std::vector<std::vector<std::string>> rows = {{"up to", "calls", ""}};
  for (int k = bins.begin()->first; k <= bins.rbegin()->first; ++k)
    rows.push_back({Time(std::ldexp(1e-6, k + 1)), std::to_string(bins[k]),
                    Bar(static_cast<double>(bins[k]) / static_cast<double>(most))});
  return text + TextTable(rows);
}

}  // namespace tessera::cli
