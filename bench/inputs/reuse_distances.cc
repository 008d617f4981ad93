#include "bench/inputs/reuse_distances.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <unordered_map>

#include "bench/inputs/lru_stack.h"

namespace tessera::bench {
namespace {

// 0 and the powers of √2 below `rows`, then `rows`, which no distance reaches.
std::vector<int64_t> PowersOfRootTwo(int64_t rows) {
  std::vector<int64_t> distances = {0};
  for (int power = 0; distances.back() < rows; ++power) {
    const auto next = static_cast<int64_t>(std::llround(std::pow(2.0, power / 2.0)));
    if (next > distances.back()) distances.push_back(std::min(next, rows));
  }
  return distances;
}

// Index of the bin [distances[k], distances[k + 1]) that holds a distance.
size_t BinOf(const std::vector<int64_t>& distances, int64_t distance) {
  return static_cast<size_t>(std::upper_bound(distances.begin(), distances.end(), distance) -
                             distances.begin() - 1);
}

using Calls = std::vector<std::vector<int64_t>>;

// The calls with their rows numbered 0, 1, 2, … by first use.
Calls Renumbered(const Calls& calls) {
  std::unordered_map<int64_t, int64_t> numbers;
  Calls renumbered;
  for (const std::vector<int64_t>& call : calls) {
    renumbered.emplace_back();
    for (const int64_t row : call)
      renumbered.back().push_back(numbers.try_emplace(row, std::ssize(numbers)).first->second);
  }
  return renumbered;
}

}  // namespace

std::vector<double> LruHitShares(const Calls& calls, bool cold,
                                 const std::vector<int64_t>& capacities) {
  const Calls numbered = cold ? Calls() : Renumbered(calls);
  std::vector<double> hits(capacities.size());
  double reads = 0;
  LruStack stack;
  for (const std::vector<int64_t>& call : numbered)  // warm: as the turn before left it
    for (const int64_t row : call) stack.Use(row);
  for (size_t c = 0; c < calls.size(); ++c) {
    if (cold) stack = LruStack();
    const std::vector<int64_t> rows = cold ? Renumbered({calls[c]})[0] : numbered[c];
    for (const int64_t row : rows) {
      const int64_t depth = stack.Depth(row);
      for (size_t i = 0; i < hits.size(); ++i) hits[i] += depth >= 0 && depth < capacities[i];
      stack.Use(row);
    }
    reads += static_cast<double>(rows.size());
  }
  for (double& share : hits) share = reads > 0 ? share / reads : 0;
  return hits;
}

ReuseDistances MeasureReuseDistances(const std::vector<int64_t>& ids) {
  ReuseDistances law;
  const int64_t rows = ids.empty() ? 0 : *std::max_element(ids.begin(), ids.end()) + 1;
  law.distances = PowersOfRootTwo(rows);
  std::vector<double> met(law.distances.size()), unmet(law.distances.size());
  LruStack stack;
  for (const int64_t id : ids) {
    const int64_t depth = stack.Depth(id);
    if (depth >= 0)
      ++met[BinOf(law.distances, depth)];
    else
      ++unmet[BinOf(law.distances, stack.size())];
    stack.Use(id);
  }
  law.at_least = {1};
  auto at_risk = static_cast<double>(ids.size());
  for (size_t bin = 0; bin + 1 < law.distances.size(); ++bin) {
    const double exposed = at_risk - unmet[bin] / 2;  // a new row leaves halfway through its bin
    law.at_least.push_back(law.at_least.back() * (exposed > 0 ? 1 - met[bin] / exposed : 1));
    at_risk -= met[bin] + unmet[bin];
  }
  return law;
}

const ReuseDistances& LowReuseTable() {
  static const ReuseDistances law = {
      .distances = {0,     1,     2,     3,     4,      6,      8,     11,    16,    23,
                    32,    45,    64,    91,    128,    181,    256,   362,   512,   724,
                    1024,  1448,  2048,  2896,  4096,   5793,   8192,  11585, 16384, 23170,
                    32768, 46341, 65536, 92682, 131072, 185364, 231073},
      .at_least = {1.00000, 0.99987, 0.99970, 0.99957, 0.99944, 0.99913, 0.99880, 0.99833,
                   0.99750, 0.99644, 0.99509, 0.99320, 0.99069, 0.98714, 0.98298, 0.97770,
                   0.97084, 0.96270, 0.95364, 0.94419, 0.93473, 0.92560, 0.91566, 0.90503,
                   0.89263, 0.87809, 0.86152, 0.84319, 0.82352, 0.80309, 0.78194, 0.75602,
                   0.71925, 0.67097, 0.60513, 0.50893, 0.42041}};
  return law;
}

int64_t DrawDistance(const ReuseDistances& law, double u) {
  const double share = 1 - u;  // in (0, 1]
  if (share <= law.at_least.back()) return -1;
  // The last distance that at least this share reaches: at_least falls along the distances.
  const auto after = std::partition_point(law.at_least.begin(), law.at_least.end(),
                                          [&](double at_least) { return at_least >= share; });
  const auto bin = static_cast<size_t>(after - law.at_least.begin() - 1);
  const double above = law.at_least[bin], below = law.at_least[bin + 1];
  const double part = (above - share) / (above - below);
  const auto first = static_cast<double>(law.distances[bin]);
  const auto end = static_cast<double>(law.distances[bin + 1]);
  if (first == 0) return 0;
  return static_cast<int64_t>(first * std::pow(end / first, part));
}

}  // namespace tessera::bench
