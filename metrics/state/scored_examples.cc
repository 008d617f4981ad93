#include "metrics/state/scored_examples.h"

#include "runtime/base/check.h"

namespace tessera {

void CheckSizes(const ScoredExamples& examples, int64_t classes) {
  TESSERA_CHECK_EQ(
      examples.predictions.size(), examples.labels.size() * static_cast<size_t>(classes),
      "metrics: number of predictions, {} for each of {} labels", classes, examples.labels.size());
  TESSERA_CHECK(examples.weights.empty() || examples.weights.size() == examples.labels.size(),
                "metrics: {} weights for {} labels", examples.weights.size(),
                examples.labels.size());
}

}  // namespace tessera
