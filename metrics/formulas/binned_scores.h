#ifndef TESSERA_METRICS_FORMULAS_BINNED_SCORES_H_
#define TESSERA_METRICS_FORMULAS_BINNED_SCORES_H_
// Weights of either class by prediction, in bins of equal width from 0 to 1 (65,536 unless said
// otherwise): what a curve over thresholds needs of any number of examples, 16 bytes a bin.
// Predictions of one bin are taken for equal.
#include <cstdint>
#include <span>
#include <vector>

#include "metrics/state/scored_examples.h"

namespace tessera {

class BinnedScores {
 public:
  static constexpr int64_t kBins = 65536;

  // REQUIRES: num_bins > 0.
  explicit BinnedScores(int64_t num_bins = kBins) : sums_(2 * static_cast<size_t>(num_bins)) {}

  // Predictions below 0 go to the first bin, those from 1 on to the last. NaN makes its bin NaN.
  void Add(const ScoredExamples& examples);
  // Adds another's. Throws Error for other numbers of bins.
  void Add(std::span<const double> sums);

  // Positive and negative weight of each bin, [bins, 2].
  std::span<const double> sums() const { return sums_; }

 private:
  std::vector<double> sums_;
};

// AUPRC (auprc.h) of the bins.
double BinnedAuprc(const BinnedScores& scores);

}  // namespace tessera
#endif  // TESSERA_METRICS_FORMULAS_BINNED_SCORES_H_
