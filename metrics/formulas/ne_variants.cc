// Variants of `ne`:
//   unweighted_ne     with w = 1 whatever is given
//   ne_positive       of the positive examples' part of the cross entropy
//   recalibrated_ne   of predictions p / (p + (1 − p)/c)
//   serving_ne        and total_examples, how many had a weight
//   log_loss          the cross entropy an example by the natural logarithm
#include <numbers>

#include "metrics/formulas/ne.h"
#include "metrics/formulas/ratio.h"

namespace tessera {
namespace {

using internal::kEta;
using internal::NeFormula;

class UnweightedNe final : public NeFormula {
 public:
  UnweightedNe() : NeFormula(false) {}
  std::vector<MetricValue> Values(std::span<const double> sums) const override {
    return {{"unweighted_ne", Ne(CrossEntropySums::From(sums))}};
  }

 private:
  double Weight(double) const override { return 1; }
};

class NePositive final : public NeFormula {
 public:
  explicit NePositive(const MetricOptions& options)
      : NeFormula(false, 0, options.allow_missing_label_with_zero_weight) {}
  std::vector<MetricValue> Values(std::span<const double> sums) const override {
    const auto entropy = CrossEntropySums::From(sums);
    return {{"ne_positive", OrEta(entropy, entropy.positive / entropy.Entropy(kEta))}};
  }
};

class RecalibratedNe final : public NeFormula {
 public:
  explicit RecalibratedNe(const MetricOptions& options)
      : NeFormula(options.include_logloss), coefficient_(options.recalibration_coefficient) {}

 private:
  double Score(double p) const override { return Recalibrated(p, coefficient_); }

  double coefficient_;
};

class ServingNe final : public NeFormula {
 public:
  ServingNe() : NeFormula(false, 1) {}
  BatchUse AddUp(const MetricBatch& batch, std::span<double> sums) override {
    batch.examples.ForEach([&](double, double, double w) { sums.back() += w != 0; });
    return NeFormula::AddUp(batch, sums);
  }
  std::vector<MetricValue> Totals(std::span<const double> sums) const override {
    return {{"total_examples", sums.back()}};
  }
};

class LogLoss final : public NeFormula {
 public:
  LogLoss() : NeFormula(false) {}
  std::vector<MetricValue> Values(std::span<const double> sums) const override {
    return {{"log_loss", CrossEntropySums::From(sums).LogLoss(kEta) * std::numbers::ln2}};
  }
};

}  // namespace

FormulaPtr MakeUnweightedNe(const MetricOptions&) { return std::make_unique<UnweightedNe>(); }
FormulaPtr MakeNePositive(const MetricOptions& options) {
  return std::make_unique<NePositive>(options);
}
FormulaPtr MakeRecalibratedNe(const MetricOptions& options) {
  return std::make_unique<RecalibratedNe>(options);
}
FormulaPtr MakeServingNe(const MetricOptions&) { return std::make_unique<ServingNe>(); }
FormulaPtr MakeLogLoss(const MetricOptions&) { return std::make_unique<LogLoss>(); }

}  // namespace tessera
