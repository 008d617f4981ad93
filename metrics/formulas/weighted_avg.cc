// `weighted_avg` = Σwx/Σw: of the predictions, or (tensor_weighted_avg) of another tensor of the
// model's.
#include "metrics/formulas/formulas.h"
#include "runtime/base/check.h"

namespace tessera {
namespace {

class WeightedAvg final : public SumFormula {
 public:
  explicit WeightedAvg(bool of_tensor) : SumFormula(2), of_tensor_(of_tensor) {}
  BatchUse AddUp(const MetricBatch& batch, std::span<double> sums) override {
    const std::span<const float> x = of_tensor_ ? CheckedTensor(batch) : batch.examples.predictions;
    for (size_t i = 0; i < batch.size(); ++i) {
      const double w = static_cast<double>(batch.examples.weight(i));
      sums[0] += w * static_cast<double>(x[i]);
      sums[1] += w;
    }
    return BatchUse::kLifetimeAndWindow;
  }
  std::vector<MetricValue> Values(std::span<const double> sums) const override {
    return {{"weighted_avg", sums[0] / sums[1]}};
  }

 private:
  static std::span<const float> CheckedTensor(const MetricBatch& batch) {
    TESSERA_CHECK_EQ(batch.tensors.size(), size_t{1}, "tensor_weighted_avg: tensors");
    TESSERA_CHECK_EQ(batch.tensors[0].size(), batch.size(), "tensor_weighted_avg: elements");
    return batch.tensors[0];
  }

  bool of_tensor_;
};

}  // namespace

FormulaPtr MakeWeightedAvg(const MetricOptions&) { return std::make_unique<WeightedAvg>(false); }
FormulaPtr MakeTensorWeightedAvg(const MetricOptions&) {
  return std::make_unique<WeightedAvg>(true);
}

}  // namespace tessera
