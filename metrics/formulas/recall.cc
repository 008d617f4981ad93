// `recall` = TP/(TP + FN), TP = Σwy[p ≥ threshold], FN = Σwy[p ≤ threshold]: an example exactly at
// the threshold counts in both, as in TorchRec.
#include "metrics/formulas/formulas.h"
#include "metrics/formulas/ratio.h"

namespace tessera {
namespace {

class Recall final : public SumFormula {
 public:
  explicit Recall(double threshold) : SumFormula(2), threshold_(threshold) {}
  BatchUse AddUp(const MetricBatch& batch, std::span<double> sums) override {
    batch.examples.ForEach([&](double p, double y, double w) {
      if (p >= threshold_) sums[0] += w * y;
      if (p <= threshold_) sums[1] += w * y;
    });
    return BatchUse::kLifetimeAndWindow;
  }
  std::vector<MetricValue> Values(std::span<const double> sums) const override {
    return {{"recall", RatioOrZero(sums[0], sums[0] + sums[1])}};
  }

 private:
  double threshold_;
};

}  // namespace

FormulaPtr MakeRecall(const MetricOptions& options) {
  return std::make_unique<Recall>(options.threshold);
}

}  // namespace tessera
