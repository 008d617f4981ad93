// `cali_free_ne` = ne / (−Σwy·log₂ c − (Σw − Σwy)·log₂(1 − c)), c = Σwp/Σw: what remains of ne when
// the mean prediction is told apart.
#include "metrics/formulas/ne.h"
#include "metrics/state/log2.h"

namespace tessera {
namespace {

class CaliFreeNe final : public internal::NeFormula {
 public:
  explicit CaliFreeNe(const MetricOptions& options)
      : NeFormula(false, 1, options.allow_missing_label_with_zero_weight) {}
  BatchUse AddUp(const MetricBatch& batch, std::span<double> sums) override {
    batch.examples.ForEach([&](double p, double, double w) { sums.back() += w * p; });
    return NeFormula::AddUp(batch, sums);
  }
  std::vector<MetricValue> Values(std::span<const double> sums) const override {
    const auto entropy = CrossEntropySums::From(sums);
    const double mean = sums.back() / entropy.weight;
    const double norm =
        -entropy.labels * Log2Of(mean) - (entropy.weight - entropy.labels) * Log2Of(1 - mean);
    return {{"cali_free_ne", OrEta(entropy, Ne(entropy) / norm)}};
  }
};

}  // namespace

FormulaPtr MakeCaliFreeNe(const MetricOptions& options) {
  return std::make_unique<CaliFreeNe>(options);
}

}  // namespace tessera
