// `accuracy` = Σw[(p ≥ threshold) = y]/Σw.
#include "metrics/formulas/formulas.h"
#include "metrics/formulas/ratio.h"

namespace tessera {
namespace {

class Accuracy final : public SumFormula {
 public:
  explicit Accuracy(double threshold) : SumFormula(2), threshold_(threshold) {}
  BatchUse AddUp(const MetricBatch& batch, std::span<double> sums) override {
    batch.examples.ForEach([&](double p, double y, double w) {
      sums[0] += y == (p >= threshold_ ? 1 : 0) ? w : 0;
      sums[1] += w;
    });
    return BatchUse::kLifetimeAndWindow;
  }
  std::vector<MetricValue> Values(std::span<const double> sums) const override {
    return {{"accuracy", RatioOrZero(sums[0], sums[1])}};
  }

 private:
  double threshold_;
};

}  // namespace

FormulaPtr MakeAccuracy(const MetricOptions& options) {
  return std::make_unique<Accuracy>(options.threshold);
}

}  // namespace tessera
