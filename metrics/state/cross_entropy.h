#ifndef TESSERA_METRICS_STATE_CROSS_ENTROPY_H_
#define TESSERA_METRICS_STATE_CROSS_ENTROPY_H_
// The sums behind log-loss and normalized entropy, in bits.
//
//   positive = Σ −w·y·log₂ q        q = the prediction clipped to [clip, 1 − clip]
//   negative = Σ −w·(1 − y)·log₂(1 − q)
//   entropy  = −Σwy·log₂ m − Σw(1 − y)·log₂(1 − m)    of always saying m = Σwy/max(Σw, clip),
//                                                     clipped likewise
// Normalized entropy = (positive + negative) / entropy.
#include <algorithm>
#include <span>

#include "metrics/state/log2.h"

namespace tessera {

// NaN stays NaN.
inline double Clipped(double p, double clip) {
  return p < clip ? clip : p > 1 - clip ? 1 - clip : p;
}

struct CrossEntropySums {
  static constexpr int kCount = 5;

  double weight = 0;     // Σ w
  double labels = 0;     // Σ w·y
  double nonlabels = 0;  // Σ w·(1 − y)
  double positive = 0, negative = 0;

  static CrossEntropySums From(std::span<const double> sums) {
    return {sums[0], sums[1], sums[2], sums[3], sums[4]};
  }
  void Store(std::span<double> sums) const {
    const double all[kCount] = {weight, labels, nonlabels, positive, negative};
    std::copy(all, all + kCount, sums.begin());
  }

  // REQUIRES: 0 ≤ y ≤ 1.
  void Add(double p, double y, double w, double clip) {
    const double q = Clipped(p, clip);
    weight += w;
    labels += w * y;
    nonlabels += w * (1 - y);
    // A term whose factor is 0 is 0, or NaN with the other.
    if (y != 0) positive -= w * y * Log2Of(q);
    if (y != 1) negative -= w * (1 - y) * Log2Of(1 - q);
  }

  double cross_entropy() const { return positive + negative; }
  double Entropy(double clip) const {
    const double m = Clipped(labels / std::max(weight, clip), clip);
    return -labels * Log2Of(m) - nonlabels * Log2Of(1 - m);
  }
  // Cross entropy an example.
  double LogLoss(double clip) const { return cross_entropy() / std::max(weight, clip); }
};

}  // namespace tessera
#endif  // TESSERA_METRICS_STATE_CROSS_ENTROPY_H_
