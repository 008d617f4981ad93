#include "metrics/formulas/rauc.h"

#include "metrics/state/pair_weights.h"

namespace tessera {

double Rauc(const ScoredExamples& examples) {
  if (examples.size() < 2) return 0.5;
  const PairWeights pairs = ComputePairWeights({examples.predictions, examples.labels, {}});
  return 1 - pairs.discordant / pairs.total;
}

}  // namespace tessera
