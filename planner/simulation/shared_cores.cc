#include "planner/simulation/shared_cores.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <queue>
#include <utility>
#include <vector>

namespace tessera {

void RunOnCores(std::span<CoreWork> pieces, double at_once) {
  std::vector<size_t> arrivals(pieces.size());
  std::iota(arrivals.begin(), arrivals.end(), size_t{0});
  std::stable_sort(arrivals.begin(), arrivals.end(),
                   [&](size_t a, size_t b) { return pieces[a].start < pieces[b].start; });
  // `served` is the work that a piece would have got that runs since the beginning: a piece ends
  // when it has grown by the piece's own since its start.
  using Ending = std::pair<double, size_t>;  // by `served`
  std::priority_queue<Ending, std::vector<Ending>, std::greater<>> running;
  constexpr double kNever = std::numeric_limits<double>::infinity();
  double now = 0, served = 0;
  for (size_t next = 0; next < pieces.size() || !running.empty();) {
    const double speed =
        running.empty() ? 1 : std::min(1.0, at_once / static_cast<double>(running.size()));
    const double end = running.empty() ? kNever : now + (running.top().first - served) / speed;
    const double start = next < pieces.size() ? pieces[arrivals[next]].start : kNever;
    const double then = std::min(start, end);
    served += (then - now) * speed;
    now = then;
    if (start <= end) {
      const size_t piece = arrivals[next++];
      running.push({served + pieces[piece].seconds, piece});
    } else {
      pieces[running.top().second].end = now;
      running.pop();
    }
  }
}

}  // namespace tessera
