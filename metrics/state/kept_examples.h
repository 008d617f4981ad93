#ifndef TESSERA_METRICS_STATE_KEPT_EXAMPLES_H_
#define TESSERA_METRICS_STATE_KEPT_EXAMPLES_H_
// Examples in order of arrival, for metrics that have to sort them: 12 bytes each, 20 with groups.
#include <cstdint>
#include <span>
#include <vector>

#include "metrics/state/scored_examples.h"

namespace tessera {

class KeptExamples {
 public:
  // Groups: one number an example, in every batch or in none.
  void Append(const ScoredExamples& batch, std::span<const int64_t> groups = {});
  // Forgets all but the last `count`. Moves each example at most once, on average.
  void KeepLast(size_t count);

  size_t size() const { return labels_.size() - begin_; }
  // Valid until the next change.
  ScoredExamples view() const { return Last(size()); }
  // The last `count`, or all if there are fewer.
  ScoredExamples Last(size_t count) const;
  std::span<const int64_t> groups() const;

 private:
  std::vector<float> predictions_, labels_, weights_;
  std::vector<int64_t> groups_;
  size_t begin_ = 0;  // those before it wait to be cut off
};

}  // namespace tessera
#endif  // TESSERA_METRICS_STATE_KEPT_EXAMPLES_H_
