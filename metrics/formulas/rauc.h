#ifndef TESSERA_METRICS_FORMULAS_RAUC_H_
#define TESSERA_METRICS_FORMULAS_RAUC_H_
// Regression AUC: 1 − the share of pairs that predictions and labels order in opposite directions.
// Weights are not looked at.
#include "metrics/state/scored_examples.h"

namespace tessera {

// 0.5 for fewer than two examples, NaN if a prediction or a label of several is. O(n log n).
double Rauc(const ScoredExamples& examples);

}  // namespace tessera
#endif  // TESSERA_METRICS_FORMULAS_RAUC_H_
