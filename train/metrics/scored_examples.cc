#include "train/metrics/scored_examples.h"

#include "runtime/check.h"

namespace tessera {

void CheckSizes(const ScoredExamples& examples) {
  TESSERA_CHECK_EQ(examples.predictions.size(), examples.labels.size(),
                   "metrics: predictions and labels");
  TESSERA_CHECK(examples.weights.empty() || examples.weights.size() == examples.labels.size(),
                "metrics: {} weights for {} labels", examples.weights.size(),
                examples.labels.size());
}

}  // namespace tessera
