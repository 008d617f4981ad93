// `multi_label_precision<label>` of each label: TP/(TP + FP), 0 where nothing was predicted.
// Predictions and labels are whole numbers whose bit i is label i: of 3 labels, 5 says that labels
// 0 and 2 are set.
#include <cmath>

#include "metrics/formulas/formulas.h"
#include "metrics/formulas/ratio.h"
#include "runtime/base/check.h"

namespace tessera {
namespace {

class MultiLabelPrecision final : public SumFormula {
 public:
  explicit MultiLabelPrecision(std::vector<std::string> labels)
      : SumFormula(2 * std::ssize(labels)), labels_(std::move(labels)) {}

  // Sums: TP and FP of each label.
  BatchUse AddUp(const MetricBatch& batch, std::span<double> sums) override {
    batch.examples.ForEach([&](double p, double y, double w) {
      for (size_t i = 0; i < labels_.size(); ++i)
        if (HasBit(p, i)) sums[2 * i + (HasBit(y, i) ? 0 : 1)] += w;
    });
    return BatchUse::kLifetimeAndWindow;
  }
  std::vector<MetricValue> Values(std::span<const double> sums) const override {
    std::vector<MetricValue> values;
    for (size_t i = 0; i < labels_.size(); ++i)
      values.push_back({"multi_label_precision" + labels_[i],
                        RatioOrZero(sums[2 * i], sums[2 * i] + sums[2 * i + 1])});
    return values;
  }

 private:
  static bool HasBit(double number, size_t bit) {
    return std::fmod(std::floor(std::ldexp(number, -static_cast<int>(bit))), 2) == 1;
  }

  std::vector<std::string> labels_;
};

}  // namespace

FormulaPtr MakeMultiLabelPrecision(const MetricOptions& options) {
  // Numbers of more bits are no floats.
  TESSERA_CHECK(options.num_labels >= 1 && options.num_labels <= 24,
                "multi_label_precision: num_labels {}; expected 1 to 24", options.num_labels);
  std::vector<std::string> labels = options.label_names;
  if (labels.empty())
    for (int64_t i = 0; i < options.num_labels; ++i) labels.push_back("label_" + std::to_string(i));
  TESSERA_CHECK_EQ(std::ssize(labels), options.num_labels,
                   "multi_label_precision: label_names, and num_labels");
  return std::make_unique<MultiLabelPrecision>(std::move(labels));
}

}  // namespace tessera
