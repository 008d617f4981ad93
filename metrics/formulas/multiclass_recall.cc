// `multiclass_recall_<k>` for k in [0, classes): Σw[the label is among the k + 1 classes of the
// highest predictions]/Σw. Of equal predictions the lower class is higher. Predictions are
// [n, classes], labels are class numbers.
#include "metrics/formulas/formulas.h"
#include "runtime/base/check.h"

namespace tessera {
namespace {

class MulticlassRecall final : public SumFormula {
 public:
  // Sums: Σw of the examples whose label has rank k, and Σw.
  explicit MulticlassRecall(int64_t classes) : SumFormula(classes + 1), classes_(classes) {}
  int64_t num_classes() const override { return classes_; }

  BatchUse AddUp(const MetricBatch& batch, std::span<double> sums) override {
    for (size_t i = 0; i < batch.size(); ++i) {
      const auto label = static_cast<int64_t>(batch.examples.labels[i]);
      const double w = static_cast<double>(batch.examples.weight(i));
      sums.back() += w;
      if (label >= 0 && label < classes_)
        sums[RankOf(static_cast<size_t>(label), Row(batch, i))] += w;
    }
    return BatchUse::kLifetimeAndWindow;
  }

  std::vector<MetricValue> Values(std::span<const double> sums) const override {
    std::vector<MetricValue> values;
    double found = 0;
    for (size_t k = 0; k + 1 < sums.size(); ++k) {
      found += sums[k];
      values.push_back({"multiclass_recall_" + std::to_string(k), found / sums.back()});
    }
    return values;
  }

 private:
  std::span<const float> Row(const MetricBatch& batch, size_t i) const {
    const auto n = static_cast<size_t>(classes_);
    return batch.examples.predictions.subspan(i * n, n);
  }
  static size_t RankOf(size_t label, std::span<const float> row) {
    size_t rank = 0;
    for (size_t c = 0; c < row.size(); ++c)
      rank += row[c] > row[label] || (c < label && row[c] == row[label]);
    return rank;
  }

  int64_t classes_;
};

}  // namespace

FormulaPtr MakeMulticlassRecall(const MetricOptions& options) {
  TESSERA_CHECK_GT(options.number_of_classes, 0, "multiclass_recall: number_of_classes");
  return std::make_unique<MulticlassRecall>(options.number_of_classes);
}

}  // namespace tessera
