// Sums over examples, and means of them: num_positive_samples = Σwy, num_missing_labels = Σw[y is
// NaN], sum_weights = Σw, weighted_sum_predictions = Σwp; average: label_average = Σwy/Σw and
// prediction_average = Σwp/Σw, 0 where Σw = 0. In the sums of y and p a NaN counts 0, and an
// infinity as the largest float.
#include <algorithm>
#include <cmath>
#include <limits>

#include "metrics/formulas/formulas.h"
#include "metrics/formulas/ratio.h"

namespace tessera {
namespace {

double Finite(double x) {
  constexpr double kLargest = std::numeric_limits<float>::max();
  return std::isnan(x) ? 0 : std::clamp(x, -kLargest, kLargest);
}

class ExampleSum final : public SumFormula {
 public:
  using Term = double (*)(double p, double y, double w);
  ExampleSum(const char* name, Term term) : SumFormula(1), name_(name), term_(term) {}

  BatchUse AddUp(const MetricBatch& batch, std::span<double> sums) override {
    batch.examples.ForEach([&](double p, double y, double w) { sums[0] += term_(p, y, w); });
    return BatchUse::kLifetimeAndWindow;
  }
  std::vector<MetricValue> Values(std::span<const double> sums) const override {
    return {{name_, sums[0]}};
  }

 private:
  const char* name_;
  Term term_;
};

class Average final : public SumFormula {
 public:
  Average() : SumFormula(3) {}

  BatchUse AddUp(const MetricBatch& batch, std::span<double> sums) override {
    batch.examples.ForEach([&](double p, double y, double w) {
      sums[0] += w * y;
      sums[1] += w * p;
      sums[2] += w;
    });
    return BatchUse::kLifetimeAndWindow;
  }
  std::vector<MetricValue> Values(std::span<const double> sums) const override {
    return {{"label_average", RatioOrZero(sums[0], sums[2])},
            {"prediction_average", RatioOrZero(sums[1], sums[2])}};
  }
};

}  // namespace

FormulaPtr MakeNumPositiveSamples(const MetricOptions&) {
  return std::make_unique<ExampleSum>("num_positive_samples",
                                      [](double, double y, double w) { return w * Finite(y); });
}
FormulaPtr MakeNumMissingLabels(const MetricOptions&) {
  return std::make_unique<ExampleSum>(
      "num_missing_labels", [](double, double y, double w) { return std::isnan(y) ? w : 0; });
}
FormulaPtr MakeSumWeights(const MetricOptions&) {
  return std::make_unique<ExampleSum>("sum_weights", [](double, double, double w) { return w; });
}
FormulaPtr MakeWeightedSumPredictions(const MetricOptions&) {
  return std::make_unique<ExampleSum>("weighted_sum_predictions",
                                      [](double p, double, double w) { return w * Finite(p); });
}
FormulaPtr MakeAverage(const MetricOptions&) { return std::make_unique<Average>(); }

}  // namespace tessera
