// `nmse` = Σw(y − p)²/Σw(y − 1)² and its root `nrmse`: the squared error beside that of always
// saying 1.
#include <cmath>

#include "metrics/formulas/formulas.h"
#include "metrics/formulas/ratio.h"

namespace tessera {
namespace {

class Nmse final : public SumFormula {
 public:
  Nmse() : SumFormula(2) {}
  BatchUse AddUp(const MetricBatch& batch, std::span<double> sums) override {
    batch.examples.ForEach([&](double p, double y, double w) {
      sums[0] += w * (y - p) * (y - p);
      sums[1] += w * (y - 1) * (y - 1);
    });
    return BatchUse::kLifetimeAndWindow;
  }
  std::vector<MetricValue> Values(std::span<const double> sums) const override {
    const double nmse = RatioOrZero(sums[0], sums[1]);
    return {{"nmse", nmse}, {"nrmse", std::sqrt(nmse)}};
  }
};

}  // namespace

FormulaPtr MakeNmse(const MetricOptions&) { return std::make_unique<Nmse>(); }

}  // namespace tessera
