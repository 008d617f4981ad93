#include "metrics/state/click_sums.h"

#include <cmath>
#include <limits>
#include <numbers>

namespace tessera {
namespace {

double Ratio(double a, double b) {
  return b > 0 ? a / b : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

ClickSums ClickSums::Of(const ScoredExamples& examples) {
  CheckSizes(examples);
  ClickSums sums;
  sums.examples = static_cast<int64_t>(examples.size());
  examples.ForEach([&](double p, double y, double w) {
    sums.predictions += w * p;
    sums.entropy.Add(p, y, w, kPredictionClip);
  });
  return sums;
}

ClickSums& ClickSums::operator+=(const ClickSums& other) {
  examples += other.examples;
  predictions += other.predictions;
  entropy.weight += other.entropy.weight;
  entropy.labels += other.entropy.labels;
  entropy.nonlabels += other.entropy.nonlabels;
  entropy.positive += other.entropy.positive;
  entropy.negative += other.entropy.negative;
  return *this;
}

double ClickSums::LogLoss() const {
  return Ratio(entropy.cross_entropy(), entropy.weight) * std::numbers::ln2;
}

double ClickSums::NormalizedEntropy() const {
  const bool both_classes = entropy.labels > 0 && entropy.nonlabels > 0;
  return Ratio(entropy.cross_entropy(), both_classes ? entropy.Entropy(0) : 0);
}

double ClickSums::Calibration() const { return Ratio(predictions, entropy.labels); }

}  // namespace tessera
