// `tower_qps`: examples a second after warmup_steps batches: Σ over ranks of examples / the seconds
// of the slowest rank, 0 where no time has passed. `total_examples`: those of the warm-up too.
#include <algorithm>

#include "metrics/formulas/formulas.h"
#include "runtime/base/check.h"

namespace tessera {
namespace {

class TowerQps final : public SumFormula {
 public:
  TowerQps(int64_t warmup_steps, Clock clock)
      : SumFormula(3), warmup_steps_(warmup_steps), clock_(std::move(clock)) {
    TESSERA_CHECK_GT(warmup_steps, 0, "tower_qps: warmup_steps");
  }

  // Sums: examples after the warm-up, seconds, all examples.
  BatchUse AddUp(const MetricBatch& batch, std::span<double> sums) override {
    const double now = clock_();
    sums[2] = static_cast<double>(batch.size());
    const bool counts = ++steps_ > warmup_steps_;
    if (counts) {
      sums[0] = sums[2];
      sums[1] = now - previous_;
    }
    previous_ = now;
    return counts ? BatchUse::kLifetimeAndWindow : BatchUse::kLifetime;
  }
  std::vector<MetricValue> Values(std::span<const double> sums) const override {
    return {{"tower_qps", sums[1] > 0 ? sums[0] / sums[1] : 0}};
  }
  std::vector<MetricValue> Totals(std::span<const double> sums) const override {
    return {{"total_examples", sums[2]}};
  }
  void Merge(std::span<double> into, std::span<const double> other) const override {
    into[0] += other[0];
    into[1] = std::max(into[1], other[1]);
    into[2] += other[2];
  }

 private:
  int64_t warmup_steps_, steps_ = 0;
  Clock clock_;
  double previous_ = 0;
};

}  // namespace

FormulaPtr MakeTowerQps(const MetricOptions& options, Clock clock) {
  return std::make_unique<TowerQps>(options.warmup_steps, std::move(clock));
}

}  // namespace tessera
