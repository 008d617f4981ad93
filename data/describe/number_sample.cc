#include "data/describe/number_sample.h"

#include <algorithm>
#include <cmath>
#include <span>

namespace tessera {

void NumberSample::Add(double number) {
  least_ = std::min(least_, number);
  greatest_ = std::max(greatest_, number);
  sum_ += number;
  sample_.Add(number);
}

namespace {

NumberSample::MeanAndDeviation MeanAndDeviationOf(std::span<const double> numbers) {
  const auto count = static_cast<double>(std::max<size_t>(numbers.size(), 1));
  double sum = 0, squares = 0;
  for (const double number : numbers) sum += number;
  const double mean = sum / count;
  for (const double number : numbers) squares += (number - mean) * (number - mean);
  return {mean, std::sqrt(squares / count)};
}

}  // namespace

NumberSample::MeanAndDeviation NumberSample::Typical() const {
  std::vector<double> sorted = kept();
  std::sort(sorted.begin(), sorted.end());
  const size_t cut = sorted.size() / 100;
  const std::span<const double> all(sorted), most = all.subspan(cut, all.size() - 2 * cut);
  const MeanAndDeviation typical = MeanAndDeviationOf(most);
  return typical.deviation > 0 ? typical : MeanAndDeviationOf(all);
}

std::vector<int64_t> NumberSample::Histogram(int buckets) const {
  std::vector<int64_t> counts(static_cast<size_t>(buckets));
  const double width = greatest_ - least_;
  for (const double number : kept()) {
    const double place = width > 0 ? (number - least_) / width * buckets : 0;
    ++counts[static_cast<size_t>(std::clamp(static_cast<int>(place), 0, buckets - 1))];
  }
  return counts;
}

}  // namespace tessera
