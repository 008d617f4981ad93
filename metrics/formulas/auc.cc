#include "metrics/formulas/auc.h"

#include <limits>

#include "metrics/state/score_ties.h"

namespace tessera {

double Auc(const ScoredExamples& examples) {
  double area = 0, positives = 0, negatives = 0;
  internal::ForEachTie(internal::ByFallingPrediction(examples),
                       [&](double positive, double negative) {
                         area += negative * (positives + positive / 2);
                         positives += positive;
                         negatives += negative;
                       });
  if (!(positives > 0 && negatives > 0)) return std::numeric_limits<double>::quiet_NaN();
  return area / (positives * negatives);
}

double AucOrHalf(const ScoredExamples& examples) {
  const auto is_nan = [](float p) { return std::isnan(p); };
  const double auc = Auc(examples);
  const bool one_class = std::isnan(auc) && std::none_of(examples.predictions.begin(),
                                                         examples.predictions.end(), is_nan);
  return one_class ? 0.5 : auc;
}

}  // namespace tessera
