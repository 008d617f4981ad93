#include "data/synthetic/alias_table.h"

#include <numeric>

#include "runtime/base/check.h"

namespace tessera {

AliasTable::AliasTable(std::span<const double> weights)
    : keep_(weights.size(), 1.0), alias_(weights.size()) {
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  TESSERA_CHECK_GT(sum, 0.0, "sum of the weights of an AliasTable");
  std::iota(alias_.begin(), alias_.end(), int64_t{0});
  std::vector<double> mass(weights.begin(), weights.end());  // in units of one slot
  std::vector<size_t> poor, rich;
  for (size_t i = 0; i < mass.size(); ++i) {
    mass[i] *= static_cast<double>(mass.size()) / sum;
    (mass[i] < 1 ? poor : rich).push_back(i);
  }
  while (!poor.empty() && !rich.empty()) {
    const size_t taker = poor.back(), giver = rich.back();
    poor.pop_back();
    keep_[taker] = mass[taker];
    alias_[taker] = static_cast<int64_t>(giver);
    mass[giver] -= 1 - mass[taker];
    if (mass[giver] >= 1) continue;
    rich.pop_back();
    poor.push_back(giver);
  }
}

}  // namespace tessera
