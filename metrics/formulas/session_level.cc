// Precision and recall where the first top_threshold of a session's examples, by prediction, are
// taken for positive; with run_ranking_of_labels, labels likewise. Equal values share the best
// rank.
//   precision_session_level = TP/(TP + FP)      recall_session_level = TP/(TP + FN)
// NaN where there is nothing to divide by.
#include "metrics/formulas/formulas.h"
#include "metrics/state/sessions.h"
#include "runtime/base/check.h"

namespace tessera {
namespace {

class SessionLevel final : public SumFormula {
 public:
  SessionLevel(const char* name, bool precision, const MetricOptions& options)
      : SumFormula(2),
        name_(name),
        precision_(precision),
        top_(options.top_threshold),
        rank_labels_(options.run_ranking_of_labels) {
    TESSERA_CHECK_GT(top_, 0, "{}: top_threshold", name_);
  }

  BatchUse AddUp(const MetricBatch& batch, std::span<double> sums) override {
    TESSERA_CHECK_EQ(batch.sessions.size(), batch.size(), "{}: sessions", name_);
    const std::vector<bool> first = First(batch, batch.examples.predictions);
    const std::vector<bool> first_labels =
        rank_labels_ ? First(batch, batch.examples.labels) : std::vector<bool>();
    size_t i = 0;
    batch.examples.ForEach([&](double, double y, double w) {
      if (rank_labels_) y = first_labels[i];
      if (first[i]) sums[0] += w * y;
      if (precision_ && first[i]) sums[1] += w * (1 - y);
      if (!precision_ && !first[i]) sums[1] += w * y;
      ++i;
    });
    return BatchUse::kLifetimeAndWindow;
  }
  std::vector<MetricValue> Values(std::span<const double> sums) const override {
    return {{name_, sums[0] / (sums[0] + sums[1])}};
  }

 private:
  // Whether fewer than top_ examples of its session have a higher value.
  std::vector<bool> First(const MetricBatch& batch, std::span<const float> values) const {
    std::vector<bool> first(values.size());
    ForEachSession(batch.sessions, [&](std::span<const int32_t> members) {
      const std::vector<int32_t> order = ByFallingValue(members, values);
      const auto value = [&](size_t i) { return values[static_cast<size_t>(order[i])]; };
      size_t higher = 0;
      for (size_t i = 0; i < order.size(); ++i) {
        if (value(i) != value(higher)) higher = i;
        first[static_cast<size_t>(order[i])] = static_cast<int64_t>(higher) < top_;
      }
    });
    return first;
  }

  const char* name_;
  bool precision_;
  int64_t top_;
  bool rank_labels_;
};

}  // namespace

FormulaPtr MakePrecisionSession(const MetricOptions& options) {
  return std::make_unique<SessionLevel>("precision_session_level", true, options);
}
FormulaPtr MakeRecallSession(const MetricOptions& options) {
  return std::make_unique<SessionLevel>("recall_session_level", false, options);
}

}  // namespace tessera
