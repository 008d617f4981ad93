#ifndef TESSERA_METRICS_STATE_CLICK_SUMS_H_
#define TESSERA_METRICS_STATE_CLICK_SUMS_H_
// Sums over examples, in double, from which log-loss, normalized entropy and calibration follow.
// Sums of two sets of examples add up. A value that is not defined (no examples, one class only) is
// NaN.
#include <cstdint>

#include "metrics/state/cross_entropy.h"
#include "metrics/state/scored_examples.h"

namespace tessera {

// Predictions are clipped to [kPredictionClip, 1 − kPredictionClip] in the cross entropy.
inline constexpr double kPredictionClip = 1e-7;

struct ClickSums {
  int64_t examples = 0;
  double predictions = 0;  // Σ w·p
  CrossEntropySums entropy;

  static ClickSums Of(const ScoredExamples& examples);
  ClickSums& operator+=(const ClickSums& other);

  // Cross entropy an example, natural logarithm.
  double LogLoss() const;
  // LogLoss / that of always saying the click rate.
  double NormalizedEntropy() const;
  // Predicted clicks / clicks.
  double Calibration() const;
};

}  // namespace tessera
#endif  // TESSERA_METRICS_STATE_CLICK_SUMS_H_
