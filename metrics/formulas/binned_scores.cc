#include "metrics/formulas/binned_scores.h"

#include <algorithm>
#include <cmath>

#include "metrics/formulas/auprc.h"
#include "runtime/base/check.h"

namespace tessera {

void BinnedScores::Add(const ScoredExamples& examples) {
  CheckSizes(examples);
  const auto bins = static_cast<double>(sums_.size() / 2);
  examples.ForEach([&](double p, double y, double w) {
    const double at = std::isnan(p) ? 0 : std::clamp(p * bins, 0.0, bins - 1.0);
    if (std::isnan(p)) w = p;
    double* bin = &sums_[2 * static_cast<size_t>(at)];
    bin[0] += w * y;
    bin[1] += w * (1 - y);
  });
}

void BinnedScores::Add(std::span<const double> sums) {
  TESSERA_CHECK_EQ(sums.size(), sums_.size(), "sums of binned scores");
  for (size_t i = 0; i < sums.size(); ++i) sums_[i] += sums[i];
}

double BinnedAuprc(const BinnedScores& scores) {
  AuprcSteps steps;
  for (size_t i = scores.sums().size(); i > 0; i -= 2)
    steps.Add(scores.sums()[i - 2], scores.sums()[i - 1]);
  return steps.Value();
}

}  // namespace tessera
