#ifndef TESSERA_TRAIN_METRICS_RAUC_H_
#define TESSERA_TRAIN_METRICS_RAUC_H_
// Regression AUC: 1 − the share of pairs that predictions and labels order in opposite directions.
// Weights are not looked at.
#include "train/metrics/scored_examples.h"

namespace tessera {

// 0.5 for fewer than two examples. O(n log n).
double Rauc(const ScoredExamples& examples);

}  // namespace tessera
#endif  // TESSERA_TRAIN_METRICS_RAUC_H_
