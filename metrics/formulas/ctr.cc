// `ctr` = Σwy/Σw, 0 if Σw = 0.
#include "metrics/formulas/formulas.h"
#include "metrics/formulas/ratio.h"

namespace tessera {
namespace {

class Ctr final : public SumFormula {
 public:
  Ctr() : SumFormula(2) {}
  BatchUse AddUp(const MetricBatch& batch, std::span<double> sums) override {
    batch.examples.ForEach([&](double, double y, double w) {
      sums[0] += w * y;
      sums[1] += w;
    });
    return BatchUse::kLifetimeAndWindow;
  }
  std::vector<MetricValue> Values(std::span<const double> sums) const override {
    return {{"ctr", RatioOrZero(sums[0], sums[1])}};
  }
};

}  // namespace

FormulaPtr MakeCtr(const MetricOptions&) { return std::make_unique<Ctr>(); }

}  // namespace tessera
