#ifndef TESSERA_METRICS_STATE_SCORE_TIES_H_
#define TESSERA_METRICS_STATE_SCORE_TIES_H_
// Examples by falling prediction, equal predictions together: what a curve over all thresholds is
// made of.
#include <algorithm>
#include <cmath>
#include <vector>

#include "metrics/state/scored_examples.h"

namespace tessera::internal {

struct ClassWeights {
  float prediction;
  float positive, negative;
};

// The examples by falling prediction, equal ones in their order, so that sums of ties have one
// order. Empty if a prediction is NaN.
std::vector<ClassWeights> ByFallingPrediction(const ScoredExamples& examples);

// fn(positive, negative), the weights of either class among equal predictions, highest first.
template <typename Fn>
void ForEachTie(const std::vector<ClassWeights>& sorted, Fn&& fn) {
  for (size_t i = 0; i < sorted.size();) {
    double positive = 0, negative = 0;
    const float prediction = sorted[i].prediction;
    for (; i < sorted.size() && sorted[i].prediction == prediction; ++i) {
      positive += static_cast<double>(sorted[i].positive);
      negative += static_cast<double>(sorted[i].negative);
    }
    fn(positive, negative);
  }
}

}  // namespace tessera::internal
#endif  // TESSERA_METRICS_STATE_SCORE_TIES_H_
