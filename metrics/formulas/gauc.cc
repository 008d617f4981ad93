// `gauc`: the mean AUC of sessions, whose lengths are num_candidates; `gauc_num_samples`: how many
// there were. Weights are not looked at. Sessions of one class, or of equal predictions alone, are
// left out; without any session it is 0.5.
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
                  batch.examples.labels.subspan(begin, n),
                  {}},
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
  static void AddSession(const ScoredExamples& session, std::span<double> sums) {
    const auto all_equal = [](std::span<const float> values) {
      return std::all_of(values.begin(), values.end(), [&](float v) { return v == values[0]; });
    };
    if (all_equal(session.predictions) || all_equal(session.labels)) return;
    sums[0] += Auc(session);
    sums[1] += 1;
  }
};

}  // namespace

FormulaPtr MakeGauc(const MetricOptions&) { return std::make_unique<Gauc>(); }

}  // namespace tessera
