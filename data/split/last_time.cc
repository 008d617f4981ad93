#include "data/split/last_time.h"

#include <algorithm>
#include <vector>

#include "runtime/base/check.h"

namespace tessera {

int64_t LastTime::Begin(double fraction) const {
  std::vector<int64_t> times = sample_.kept();
  std::ranges::sort(times);
  if (times.empty()) throw Error("data.split: a split by time needs rows, got none");
  if (times.front() == times.back())
    throw Error(
        Format("data.split: a split by time needs rows of two times or more, but all "
               "have the time {}",
               times.front()));
  const auto count = static_cast<double>(times.size());
  const auto last = static_cast<size_t>(std::max(1.0, fraction * count));
  const int64_t begin = times[times.size() - last];
  return begin > times.front() ? begin : *std::ranges::upper_bound(times, begin);
}

}  // namespace tessera
