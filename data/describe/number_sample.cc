#include "data/describe/number_sample.h"

#include <algorithm>

namespace tessera {

void NumberSample::Add(double number) {
  least_ = std::min(least_, number);
  greatest_ = std::max(greatest_, number);
  sum_ += number;
  sample_.Add(number);
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
