// `calibration` = Σwp/Σwy, 0 if Σwy ≤ 0; recalibrated_calibration: of p / (p + (1 − p)/c);
// serving_calibration: and total_examples, how many had a weight.
#include "metrics/formulas/formulas.h"
#include "metrics/formulas/ratio.h"

namespace tessera {
namespace {

class Calibration final : public SumFormula {
 public:
  explicit Calibration(double coefficient = 1, bool counts = false)
      : SumFormula(3), coefficient_(coefficient), counts_(counts) {}

  BatchUse AddUp(const MetricBatch& batch, std::span<double> sums) override {
    batch.examples.ForEach([&](double p, double y, double w) {
      sums[0] += w * (coefficient_ == 1 ? p : Recalibrated(p, coefficient_));
      sums[1] += w * y;
      sums[2] += w != 0;
    });
    return BatchUse::kLifetimeAndWindow;
  }
  std::vector<MetricValue> Values(std::span<const double> sums) const override {
    return {{"calibration", sums[1] <= 0 ? 0 : sums[0] / sums[1]}};
  }
  std::vector<MetricValue> Totals(std::span<const double> sums) const override {
    if (!counts_) return {};
    return {{"total_examples", sums[2]}};
  }

 private:
  double coefficient_;
  bool counts_;
};

}  // namespace

FormulaPtr MakeCalibration(const MetricOptions&) { return std::make_unique<Calibration>(); }
FormulaPtr MakeRecalibratedCalibration(const MetricOptions& options) {
  return std::make_unique<Calibration>(options.recalibration_coefficient);
}
FormulaPtr MakeServingCalibration(const MetricOptions&) {
  return std::make_unique<Calibration>(1, true);
}

}  // namespace tessera
