#ifndef TESSERA_METRICS_STATE_PAIR_WEIGHTS_H_
#define TESSERA_METRICS_STATE_PAIR_WEIGHTS_H_
// How the order of predictions agrees with that of labels, over all pairs i < j of examples, each
// with weight w_i·w_j.
#include "metrics/state/scored_examples.h"

namespace tessera {

struct PairWeights {
  double concordant = 0;  // p and y differ, in the same direction
  double discordant = 0;  // p and y differ, in opposite directions
  double tied = 0;        // p and y are both equal
  double total = 0;       // all pairs
};

// All four are NaN if a prediction or a label is. The order of the examples changes no bit as long
// as sums of weights are exact. O(n log n).
PairWeights ComputePairWeights(const ScoredExamples& examples);

}  // namespace tessera
#endif  // TESSERA_METRICS_STATE_PAIR_WEIGHTS_H_
