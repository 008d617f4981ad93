#include "train/metrics/click_sums.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tessera {
namespace {

constexpr double kUndefined = std::numeric_limits<double>::quiet_NaN();

double Ratio(double a, double b) { return b > 0 ? a / b : kUndefined; }

// NaN stays NaN.
double Clipped(double p) {
  return p < kPredictionClip ? kPredictionClip : p > 1 - kPredictionClip ? 1 - kPredictionClip : p;
}

}  // namespace

ClickSums ClickSums::Of(const ScoredExamples& examples) {
  CheckSizes(examples);
  ClickSums sums;
  sums.examples = static_cast<int64_t>(examples.size());
  for (size_t i = 0; i < examples.size(); ++i) {
    const double p = static_cast<double>(examples.predictions[i]), q = Clipped(p);
    const double y = static_cast<double>(examples.labels[i]),
                 w = static_cast<double>(examples.weight(i));
    sums.weight += w;
    sums.labels += w * y;
    sums.predictions += w * p;
    sums.cross_entropy -= w * (y * std::log(q) + (1 - y) * std::log(1 - q));
  }
  return sums;
}

ClickSums& ClickSums::operator+=(const ClickSums& other) {
  examples += other.examples;
  weight += other.weight;
  labels += other.labels;
  predictions += other.predictions;
  cross_entropy += other.cross_entropy;
  return *this;
}

double ClickSums::LogLoss() const { return Ratio(cross_entropy, weight); }

double ClickSums::NormalizedEntropy() const {
  const double rate = Ratio(labels, weight);
  if (!(rate > 0 && rate < 1)) return kUndefined;
  return LogLoss() / -(rate * std::log(rate) + (1 - rate) * std::log(1 - rate));
}

double ClickSums::Calibration() const { return Ratio(predictions, labels); }

}  // namespace tessera
