#ifndef TESSERA_TRAIN_METRICS_BINNED_SCORES_H_
#define TESSERA_TRAIN_METRICS_BINNED_SCORES_H_
// Weights of either class by prediction, in 65,536 bins of equal width from 0 to 1: what a curve
// over thresholds needs of any number of examples, in 1 MB. Predictions of one bin are taken for
// equal.
#include <cstdint>
#include <vector>

#include "train/metrics/scored_examples.h"

namespace tessera {

class BinnedScores {
 public:
  static constexpr int64_t kBins = 65536;

  // Predictions below 0 go to the first bin, those from 1 on to the last. NaN makes its bin NaN.
  void Add(const ScoredExamples& examples);
  // Adds another's. REQUIRES: 2·kBins sums.
  void Add(std::span<const double> sums);

  // Positive and negative weight of each bin, [kBins, 2].
  std::span<const double> sums() const { return sums_; }

 private:
  std::vector<double> sums_ = std::vector<double>(2 * kBins);
};

// AUPRC (auprc.h) of the bins.
double BinnedAuprc(const BinnedScores& scores);

}  // namespace tessera
#endif  // TESSERA_TRAIN_METRICS_BINNED_SCORES_H_
