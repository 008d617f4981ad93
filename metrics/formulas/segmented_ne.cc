// `segmented_ne_<g>` for g in [0, num_groups): ne of the examples whose grouping key is g, and with
// include_logloss `logloss_<g>`.
#include "metrics/formulas/ne.h"
#include "runtime/base/check.h"

namespace tessera {
namespace {

class SegmentedNe final : public SumFormula {
 public:
  explicit SegmentedNe(const MetricOptions& options)
      : SumFormula(options.num_groups * kCount),
        groups_(options.num_groups),
        include_logloss_(options.include_logloss) {}

  BatchUse AddUp(const MetricBatch& batch, std::span<double> sums) override {
    TESSERA_CHECK_EQ(batch.grouping_keys.size(), batch.size(), "segmented_ne: grouping_keys");
    std::vector<CrossEntropySums> groups(static_cast<size_t>(groups_));
    size_t i = 0;
    batch.examples.ForEach([&](double p, double y, double w) {
      const int64_t g = batch.grouping_keys[i++];
      TESSERA_CHECK(g >= 0 && g < groups_, "segmented_ne: group {} of {}", g, groups_);
      groups[static_cast<size_t>(g)].Add(p, y, w, internal::kEta);
    });
    for (size_t g = 0; g < groups.size(); ++g) groups[g].Store(sums.subspan(g * kCount, kCount));
    return BatchUse::kLifetimeAndWindow;
  }

  std::vector<MetricValue> Values(std::span<const double> sums) const override {
    std::vector<MetricValue> values;
    const auto add = [&](const std::string& name, auto value_of) {
      for (size_t g = 0; g < static_cast<size_t>(groups_); ++g)
        values.push_back({name + "_" + std::to_string(g),
                          value_of(CrossEntropySums::From(sums.subspan(g * kCount, kCount)))});
    };
    add("segmented_ne", [](const CrossEntropySums& group) {
      return group.cross_entropy() / group.Entropy(internal::kEta);
    });
    if (include_logloss_)
      add("logloss", [](const CrossEntropySums& group) { return group.LogLoss(internal::kEta); });
    return values;
  }

 private:
  static constexpr size_t kCount = CrossEntropySums::kCount;

  int64_t groups_;
  bool include_logloss_;
};

}  // namespace

FormulaPtr MakeSegmentedNe(const MetricOptions& options) {
  return std::make_unique<SegmentedNe>(options);
}

}  // namespace tessera
