// Recall at the lowest of 1,000 thresholds i/999 whose precision reaches target_precision (at the
// highest, if none does): `hindsight_target_pr` = i, `hindsight_target_precision`,
// `hindsight_target_recall`. Sums: TP, FP (p ≥ threshold) and FN (p ≤ threshold, as in `recall`) of
// each threshold.
#include <algorithm>
#include <array>

#include "metrics/formulas/formulas.h"
#include "metrics/formulas/ratio.h"

namespace tessera {
namespace {

constexpr size_t kThresholds = 1000;

// torch.linspace(0, 1, 1000) in f32, which counts each half from its own end.
std::array<float, kThresholds> Thresholds() {
  std::array<float, kThresholds> thresholds;
  const float step = 1.0f / (kThresholds - 1);
  for (size_t i = 0; i < kThresholds; ++i)
    thresholds[i] = i < kThresholds / 2 ? step * static_cast<float>(i)
                                        : 1 - step * static_cast<float>(kThresholds - 1 - i);
  return thresholds;
}

class HindsightTargetPr final : public SumFormula {
 public:
  explicit HindsightTargetPr(double target) : SumFormula(3 * kThresholds), target_(target) {}

  BatchUse AddUp(const MetricBatch& batch, std::span<double> sums) override {
    const auto tp = sums.first(kThresholds), fp = sums.subspan(kThresholds, kThresholds),
               fn = sums.last(kThresholds);
    for (size_t i = 0; i < batch.size(); ++i) {
      const float p = batch.examples.predictions[i];
      const double w = static_cast<double>(batch.examples.weight(i)),
                   y = static_cast<double>(batch.examples.labels[i]);
      const auto above = std::upper_bound(thresholds_.begin(), thresholds_.end(), p),
                 from = std::lower_bound(thresholds_.begin(), above, p);
      if (above != thresholds_.begin()) {
        tp[IndexOf(above) - 1] += w * y;
        fp[IndexOf(above) - 1] += w * (1 - y);
      }
      if (from != thresholds_.end()) fn[IndexOf(from)] += w * y;
    }
    // Examples are counted at their last or first threshold; now they are summed over all beyond
    // it.
    for (size_t i = kThresholds - 1; i > 0; --i) {
      tp[i - 1] += tp[i];
      fp[i - 1] += fp[i];
    }
    for (size_t i = 1; i < kThresholds; ++i) fn[i] += fn[i - 1];
    return BatchUse::kLifetimeAndWindow;
  }

  std::vector<MetricValue> Values(std::span<const double> sums) const override {
    const auto precision = [&](size_t i) {
      return RatioOrZero(sums[i], sums[i] + sums[kThresholds + i]);
    };
    size_t i = 0;
    while (i < kThresholds - 1 && !(precision(i) >= target_)) ++i;
    return {{"hindsight_target_pr", static_cast<double>(i)},
            {"hindsight_target_precision", precision(i)},
            {"hindsight_target_recall", RatioOrZero(sums[i], sums[i] + sums[2 * kThresholds + i])}};
  }

 private:
  size_t IndexOf(std::array<float, kThresholds>::const_iterator at) const {
    return static_cast<size_t>(at - thresholds_.begin());
  }

  double target_;
  const std::array<float, kThresholds> thresholds_ = Thresholds();
};

}  // namespace

FormulaPtr MakeHindsightTargetPr(const MetricOptions& options) {
  return std::make_unique<HindsightTargetPr>(options.target_precision);
}

}  // namespace tessera
