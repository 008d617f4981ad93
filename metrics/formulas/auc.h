#ifndef TESSERA_METRICS_FORMULAS_AUC_H_
#define TESSERA_METRICS_FORMULAS_AUC_H_
// The area under the ROC curve, exactly: the probability that a positive scores above a negative,
// ties counting half.
//
//   AUC = Σ_(i,j) w_i·y_i · w_j·(1 − y_j) · ([p_i > p_j] + [p_i = p_j] / 2)  /
//         (Σ w·y · Σ w·(1 − y))
#include "metrics/state/scored_examples.h"

namespace tessera {

// NaN where one class has no weight, or a number is NaN. The order of the examples changes no
// bit of the result as long as sums of weights are exact (weights 1, say). O(n log n).
double Auc(const ScoredExamples& examples);
// TorchRec's: 0.5 where one class has no weight and no number is NaN.
double AucOrHalf(const ScoredExamples& examples);

}  // namespace tessera
#endif  // TESSERA_METRICS_FORMULAS_AUC_H_
