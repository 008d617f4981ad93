#include "metrics/formulas/auprc.h"

#include <limits>

#include "metrics/state/score_ties.h"

namespace tessera {

double Auprc(const ScoredExamples& examples) {
  const auto sorted = internal::ByFallingPrediction(examples);
  if (sorted.size() != examples.size()) return std::numeric_limits<double>::quiet_NaN();
  AuprcSteps steps;
  internal::ForEachTie(sorted,
                       [&](double positive, double negative) { steps.Add(positive, negative); });
  return steps.Value();
}

}  // namespace tessera
