// `mae` = Σw·abs(y − p)/Σw.
#include <cmath>

#include "metrics/formulas/formulas.h"
#include "metrics/formulas/ratio.h"

namespace tessera {
namespace {

class Mae final : public SumFormula {
 public:
  Mae() : SumFormula(2) {}
  BatchUse AddUp(const MetricBatch& batch, std::span<double> sums) override {
    batch.examples.ForEach([&](double p, double y, double w) {
      sums[0] += w * std::abs(y - p);
      sums[1] += w;
    });
    return BatchUse::kLifetimeAndWindow;
  }
  std::vector<MetricValue> Values(std::span<const double> sums) const override {
    return {{"mae", RatioOrZero(sums[0], sums[1])}};
  }
};

}  // namespace

FormulaPtr MakeMae(const MetricOptions&) { return std::make_unique<Mae>(); }

}  // namespace tessera
