// `gauc`: the mean over sessions, whose lengths are num_candidates, of the AUC of their weighted
// examples; `gauc_num_samples`: how many sessions that is. Sessions where one class has no weight,
// or all predictions are equal, are left out; without any session it is 0.5.
#include <algorithm>

#include "metrics/formulas/auc.h"
#include "metrics/formulas/formulas.h"
#include "runtime/base/check.h"

namespace tessera {
namespace {

class Gauc final : public SumFormula {
 public:
  Gauc() : SumFormula(2) {}

  BatchUse AddUp(const MetricBatch& batch, std::span<double> sums) override {
    size_t begin = 0;
    for (const int64_t length : batch.num_candidates) {
      const auto n = static_cast<size_t>(length);
      TESSERA_CHECK(length >= 0 && n <= batch.size() - begin,
                    "gauc: {} candidates from example {} of {} on", length, begin, batch.size());
      AddSession({batch.examples.predictions.subspan(begin, n),
                  batch.examples.labels.subspan(begin, n), WeightsOf(batch, begin, n)},
                 sums);
      begin += n;
    }
    TESSERA_CHECK_EQ(begin, batch.size(), "gauc: candidates in all, and examples");
    return BatchUse::kLifetimeAndWindow;
  }
  std::vector<MetricValue> Values(std::span<const double> sums) const override {
    return {{"gauc", (sums[0] + 1e-9) / (sums[1] + 2e-9)}, {"gauc_num_samples", sums[1]}};
  }

 private:
  static std::span<const float> WeightsOf(const MetricBatch& batch, size_t begin, size_t n) {
    const std::span<const float> all = batch.examples.weights;
    return all.empty() ? all : all.subspan(begin, n);
  }
  static void AddSession(const ScoredExamples& session, std::span<double> sums) {
    const std::span<const float> p = session.predictions;
    if (std::all_of(p.begin(), p.end(), [&](float v) { return v == p[0]; })) return;
    double positives = 0, negatives = 0;
    session.ForEach([&](double, double y, double w) {
      positives += w * y;
      negatives += w * (1 - y);
    });
    if (positives <= 0 || negatives <= 0) return;
    sums[0] += Auc(session);
    sums[1] += 1;
  }
};

}  // namespace

FormulaPtr MakeGauc(const MetricOptions&) { return std::make_unique<Gauc>(); }

}  // namespace tessera
