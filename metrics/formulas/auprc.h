#ifndef TESSERA_METRICS_FORMULAS_AUPRC_H_
#define TESSERA_METRICS_FORMULAS_AUPRC_H_
// The area under the curve of precision over recall, as steps: Σ over different predictions, from
// the highest on, of precision · the recall gained. Tied predictions are one step.
#include "metrics/state/scored_examples.h"

namespace tessera {

// The sum, a step at a time.
class AuprcSteps {
 public:
  // Weights of the examples of the next lower prediction.
  void Add(double positive, double negative) {
    positives_ += positive;
    all_ += positive + negative;
    if (positive != 0) area_ += positives_ / all_ * positive;
  }
  // 0 where positives have no weight, NaN where a weight was NaN.
  double Value() const { return positives_ == 0 ? 0 * all_ : area_ / positives_; }

 private:
  double area_ = 0, positives_ = 0, all_ = 0;
};

// 0 where positives have no weight, NaN where a prediction is NaN. O(n log n).
double Auprc(const ScoredExamples& examples);

}  // namespace tessera
#endif  // TESSERA_METRICS_FORMULAS_AUPRC_H_
