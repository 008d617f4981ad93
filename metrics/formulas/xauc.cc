// `xauc`: the share of the pairs of a batch that predictions and labels order alike, or both hold
// for equal, weighted (pair_weights.h).
#include "metrics/formulas/formulas.h"
#include "metrics/formulas/ratio.h"
#include "metrics/state/pair_weights.h"

namespace tessera {
namespace {

class Xauc final : public SumFormula {
 public:
  Xauc() : SumFormula(2) {}
  BatchUse AddUp(const MetricBatch& batch, std::span<double> sums) override {
    const PairWeights pairs = ComputePairWeights(batch.examples);
    sums[0] = pairs.concordant + pairs.tied;
    sums[1] = pairs.total;
    return BatchUse::kLifetimeAndWindow;
  }
  std::vector<MetricValue> Values(std::span<const double> sums) const override {
    return {{"xauc", RatioOrZero(sums[0], sums[1])}};
  }
};

}  // namespace

FormulaPtr MakeXauc(const MetricOptions&) { return std::make_unique<Xauc>(); }

}  // namespace tessera
