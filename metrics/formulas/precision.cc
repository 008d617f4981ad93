// `precision` = TP/(TP + FP), TP = Σwy[p ≥ threshold], FP = Σw(1 − y)[p ≥ threshold].
#include "metrics/formulas/formulas.h"
#include "metrics/formulas/ratio.h"

namespace tessera {
namespace {

class Precision final : public SumFormula {
 public:
  explicit Precision(double threshold) : SumFormula(2), threshold_(threshold) {}
  BatchUse AddUp(const MetricBatch& batch, std::span<double> sums) override {
    batch.examples.ForEach([&](double p, double y, double w) {
      if (!(p >= threshold_)) return;
      sums[0] += w * y;
      sums[1] += w * (1 - y);
    });
    return BatchUse::kLifetimeAndWindow;
  }
  std::vector<MetricValue> Values(std::span<const double> sums) const override {
    return {{"precision", RatioOrZero(sums[0], sums[0] + sums[1])}};
  }

 private:
  double threshold_;
};

}  // namespace

FormulaPtr MakePrecision(const MetricOptions& options) {
  return std::make_unique<Precision>(options.threshold);
}

}  // namespace tessera
