// `ndcg`: the mean over sessions of max w · (1 − DCG/ideal DCG), or of max w · DCG/ideal DCG where
// it is not reported as a decreasing curve.
//   DCG = Σ gain/log₂(rank + 1) over ranks up to k, by falling prediction (ideal: by falling
//   label); gain = y, or 2^y − 1 (exponential_gain); an ideal DCG of 0 becomes 1e-6
// Equal values keep their order. A session is one of one batch. scale_by_weights_tensor: weights
// scale labels and predictions instead of sessions. A batch without sessions (of more than one
// example, if those are removed) counts for nothing. Of a negative task: 1 − prediction and 1 −
// label.
#include <algorithm>

#include "metrics/formulas/formulas.h"
#include "metrics/state/log2.h"
#include "metrics/state/sessions.h"
#include "runtime/base/check.h"

namespace tessera {
namespace {

class Ndcg final : public SumFormula {
 public:
  explicit Ndcg(const MetricOptions& options) : SumFormula(2), options_(options) {
    TESSERA_CHECK(options.k == -1 || options.k > 0, "ndcg: expected k of -1 or above 0, got {}",
                  options.k);
  }

  BatchUse AddUp(const MetricBatch& batch, std::span<double> sums) override {
    TESSERA_CHECK_EQ(batch.sessions.size(), batch.size(), "ndcg: sessions");
    Read(batch);
    ForEachSession(batch.sessions, [&](std::span<const int32_t> members) {
      if (members.size() == 1 && options_.remove_single_length_sessions) return;
      sums[0] += Contribution(members);
      sums[1] += 1;
    });
    return sums[1] == 0 ? BatchUse::kNone : BatchUse::kLifetimeAndWindow;
  }
  std::vector<MetricValue> Values(std::span<const double> sums) const override {
    return {{"ndcg", sums[0] / sums[1]}};
  }

 private:
  void Read(const MetricBatch& batch) {
    predictions_.clear();
    labels_.clear();
    weights_.clear();
    batch.examples.ForEach([&](double p, double y, double w) {
      const double scale = options_.scale_by_weights_tensor ? w : 1;
      predictions_.push_back(scale * (batch.negative_task ? 1 - p : p));
      labels_.push_back(scale * (batch.negative_task ? 1 - y : y));
      weights_.push_back(options_.scale_by_weights_tensor ? 1 : w);
    });
  }

  double Contribution(std::span<const int32_t> members) const {
    double ideal = Dcg(ByFallingValue<double>(members, labels_));
    if (ideal == 0) ideal = 1e-6;
    const double ndcg = Dcg(ByFallingValue<double>(members, predictions_)) / ideal;
    double weight = 0;
    for (const int32_t i : members) weight = std::max(weight, weights_[static_cast<size_t>(i)]);
    return weight * (options_.report_ndcg_as_decreasing_curve ? 1 - ndcg : ndcg);
  }

  double Dcg(const std::vector<int32_t>& order) const {
    const size_t ranks =
        options_.k == -1 ? order.size() : std::min(order.size(), static_cast<size_t>(options_.k));
    double dcg = 0;
    for (size_t r = 0; r < ranks; ++r) {
      const double y = labels_[static_cast<size_t>(order[r])];
      const double gain = options_.exponential_gain ? Exp2(y) - 1 : y;
      if (gain != 0) dcg += gain / Log2Of(static_cast<double>(r + 2));
    }
    return dcg;
  }

  MetricOptions options_;
  std::vector<double> predictions_, labels_, weights_;  // of the batch at hand
};

}  // namespace

FormulaPtr MakeNdcg(const MetricOptions& options) { return std::make_unique<Ndcg>(options); }

}  // namespace tessera
