#include "train/metrics/auc.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace tessera {
namespace {

struct Scored {
  float prediction;
  float positive, negative;  // weight of either class
};

}  // namespace

double Auc(const ScoredExamples& examples) {
  CheckSizes(examples);
  std::vector<Scored> scored(examples.size());
  for (size_t i = 0; i < scored.size(); ++i) {
    const float p = examples.predictions[i], y = examples.labels[i], w = examples.weight(i);
    if (std::isnan(p)) return std::numeric_limits<double>::quiet_NaN();
    scored[i] = {p, w * y, w * (1 - y)};
  }
  // Stable, so that sums of ties have one order.
  std::stable_sort(scored.begin(), scored.end(),
                   [](const Scored& a, const Scored& b) { return a.prediction < b.prediction; });
  double area = 0, positives = 0, negatives = 0;
  for (size_t i = 0; i < scored.size();) {
    double tied_positives = 0, tied_negatives = 0;
    const float prediction = scored[i].prediction;
    for (; i < scored.size() && scored[i].prediction == prediction; ++i) {
      tied_positives += static_cast<double>(scored[i].positive);
      tied_negatives += static_cast<double>(scored[i].negative);
    }
    area += tied_positives * (negatives + tied_negatives / 2);
    positives += tied_positives;
    negatives += tied_negatives;
  }
  if (!(positives > 0 && negatives > 0)) return std::numeric_limits<double>::quiet_NaN();
  return area / (positives * negatives);
}

}  // namespace tessera
