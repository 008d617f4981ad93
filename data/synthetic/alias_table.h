#ifndef TESSERA_DATA_SYNTHETIC_ALIAS_TABLE_H_
#define TESSERA_DATA_SYNTHETIC_ALIAS_TABLE_H_
// Draws from a discrete distribution in constant time (Walker's alias method): slot i keeps `i`
// with probability keep[i] and gives alias[i] else.
#include <cstdint>
#include <span>
#include <vector>

namespace tessera {

class AliasTable {
 public:
  // Outcome i has probability weights[i] / Σ weights. REQUIRES: weights ≥ 0, their sum > 0.
  explicit AliasTable(std::span<const double> weights);

  // The outcome of a number uniform in [0, 1).
  int64_t Draw(double uniform) const {
    const double scaled = uniform * static_cast<double>(keep_.size());
    const size_t slot = static_cast<size_t>(scaled);
    return scaled - static_cast<double>(slot) < keep_[slot] ? static_cast<int64_t>(slot)
                                                            : alias_[slot];
  }

 private:
  std::vector<double> keep_;
  std::vector<int64_t> alias_;
};

}  // namespace tessera
#endif  // TESSERA_DATA_SYNTHETIC_ALIAS_TABLE_H_
