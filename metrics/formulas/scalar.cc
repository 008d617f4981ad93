// `scalar`: the mean label of a batch, of the last batch (lifetime_) and on average over the
// window's batches.
#include "metrics/formulas/formulas.h"

namespace tessera {
namespace {

class Scalar final : public SumFormula {
 public:
  Scalar() : SumFormula(2) {}
  bool latest() const override { return true; }
  BatchUse AddUp(const MetricBatch& batch, std::span<double> sums) override {
    if (batch.size() == 0) return BatchUse::kNone;
    batch.examples.ForEach([&](double, double y, double) { sums[0] += y; });
    sums[0] /= static_cast<double>(batch.size());
    sums[1] = 1;
    return BatchUse::kLifetimeAndWindow;
  }
  std::vector<MetricValue> Values(std::span<const double> sums) const override {
    return {{"scalar", sums[0] / sums[1]}};
  }
};

}  // namespace

FormulaPtr MakeScalar(const MetricOptions&) { return std::make_unique<Scalar>(); }

}  // namespace tessera
