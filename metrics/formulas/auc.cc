#include "metrics/formulas/auc.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

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
  const auto has_nan = [](std::span<const float> column) {
    return std::any_of(column.begin(), column.end(), [](float x) { return std::isnan(x); });
  };
  const double auc = Auc(examples);
  const bool one_class = std::isnan(auc) && !has_nan(examples.predictions) &&
                         !has_nan(examples.labels) && !has_nan(examples.weights);
  return one_class ? 0.5 : auc;
}

}  // namespace tessera
