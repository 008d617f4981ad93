#include "bench/pictures/histogram.h"

#include <algorithm>
#include <cmath>

#include "bench/harness/result_table.h"
#include "bench/harness/samples.h"
#include "runtime/base/check.h"

namespace tessera::bench {
namespace {

constexpr size_t kMaxBins = 20;
constexpr int64_t kLongestBar = 70;

}  // namespace

std::vector<HistogramBin> HistogramOf(const std::vector<double>& seconds) {
  const double least = QuantileOf(seconds, 0);
  const double middle_half = QuantileOf(seconds, 0.75) - QuantileOf(seconds, 0.25);
  const double width = 2 * middle_half / std::cbrt(static_cast<double>(seconds.size()));
  std::vector<HistogramBin> bins(1, {least});
  for (const double sample : seconds) {
    const double at = width > 0 ? std::floor((sample - least) / width) : 0;
    const auto bin = static_cast<size_t>(std::min(at, static_cast<double>(kMaxBins - 1)));
    while (bins.size() <= bin) bins.push_back({least + width * static_cast<double>(bins.size())});
    ++bins[bin].count;
  }
  return bins;
}

std::string HistogramText(const Measurement& row) {
  const std::vector<HistogramBin> bins = HistogramOf(row.seconds);
  int64_t most = 0;
  for (const HistogramBin& bin : bins) most = std::max(most, bin.count);
  const int64_t samples_a_mark = (most + kLongestBar - 1) / kLongestBar;
  std::string text =
      Format("{} {}: {} samples from {} to {}", row.Name(), row.contender, row.seconds.size(),
             SecondsText(row.Quantile(0)), SecondsText(row.Quantile(1)));
  if (samples_a_mark > 1) text += Format("; a # is {}", samples_a_mark);
  text += "\n";
  for (const HistogramBin& bin : bins) {
    const int64_t marks = (bin.count + samples_a_mark - 1) / samples_a_mark;
    text += Format("{:>11} {}{}{}\n", SecondsText(bin.low),
                   std::string(static_cast<size_t>(marks), '#'), marks > 0 ? " " : "", bin.count);
  }
  return text;
}

}  // namespace tessera::bench
