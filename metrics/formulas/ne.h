#ifndef TESSERA_METRICS_FORMULAS_NE_H_
#define TESSERA_METRICS_FORMULAS_NE_H_
// Normalized entropy (cross_entropy.h, clipped at 1e-12), and what its variants share.
#include <span>
#include <vector>

#include "metrics/formulas/formulas.h"
#include "metrics/state/cross_entropy.h"

namespace tessera::internal {

inline constexpr double kEta = 1e-12;

// Sums: those of CrossEntropySums, and in front of them none. A variant changes what an example is
// (Score, Weight) or what its values are.
class NeFormula : public SumFormula {
 public:
  explicit NeFormula(bool include_logloss, int64_t more_sums = 0, bool zero_weight = false)
      : SumFormula(CrossEntropySums::kCount + more_sums),
        include_logloss_(include_logloss),
        zero_weight_(zero_weight) {}
  BatchUse AddUp(const MetricBatch& batch, std::span<double> sums) override;
  std::vector<MetricValue> Values(std::span<const double> sums) const override;

 protected:
  // NE of sums.
  static double Ne(const CrossEntropySums& sums) {
    return sums.cross_entropy() / sums.Entropy(kEta);
  }
  // MetricOptions::allow_missing_label_with_zero_weight: `value`, or kEta without any weight.
  double OrEta(const CrossEntropySums& sums, double value) const {
    return zero_weight_ && sums.weight == 0 ? kEta : value;
  }

 private:
  virtual double Score(double p) const { return p; }
  virtual double Weight(double w) const { return w; }

  bool include_logloss_, zero_weight_;
};

}  // namespace tessera::internal
#endif  // TESSERA_METRICS_FORMULAS_NE_H_
