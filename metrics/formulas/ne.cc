// `ne` = cross entropy / entropy of the mean label; with include_logloss also `logloss`, the cross
// entropy an example, in bits.
#include "metrics/formulas/ne.h"

namespace tessera {
namespace internal {

BatchUse NeFormula::AddUp(const MetricBatch& batch, std::span<double> sums) {
  CrossEntropySums entropy;
  batch.examples.ForEach(
      [&](double p, double y, double w) { entropy.Add(Score(p), y, Weight(w), kEta); });
  entropy.Store(sums);
  return BatchUse::kLifetimeAndWindow;
}

std::vector<MetricValue> NeFormula::Values(std::span<const double> sums) const {
  const auto entropy = CrossEntropySums::From(sums);
  std::vector<MetricValue> values = {{"ne", OrEta(entropy, Ne(entropy))}};
  if (include_logloss_) values.push_back({"logloss", entropy.LogLoss(kEta)});
  return values;
}

}  // namespace internal

FormulaPtr MakeNe(const MetricOptions& options) {
  return std::make_unique<internal::NeFormula>(options.include_logloss, 0,
                                               options.allow_missing_label_with_zero_weight);
}

}  // namespace tessera
