// `output_<tensor>`: the mean of each of a few tensors of the model's last batch, on average over
// the ranks. Without prefix.
#include "metrics/formulas/formulas.h"
#include "runtime/base/check.h"

namespace tessera {
namespace {

class Output final : public SumFormula {
 public:
  // Sums: a mean a tensor, and 1 for each rank.
  explicit Output(const MetricOptions& options)
      : SumFormula(static_cast<int64_t>(options.tensors.size()) + 1), names_(options.tensors) {}
  bool windowed() const override { return false; }
  bool latest() const override { return true; }
  const char* lifetime_prefix() const override { return ""; }

  BatchUse AddUp(const MetricBatch& batch, std::span<double> sums) override {
    TESSERA_CHECK_EQ(batch.tensors.size(), names_.size(), "output: tensors");
    for (size_t t = 0; t < names_.size(); ++t) {
      TESSERA_CHECK(!batch.tensors[t].empty(), "output: '{}' has no elements", names_[t]);
      for (const float x : batch.tensors[t]) sums[t] += static_cast<double>(x);
      sums[t] /= static_cast<double>(batch.tensors[t].size());
    }
    sums.back() = 1;
    return BatchUse::kLifetime;
  }
  std::vector<MetricValue> Values(std::span<const double> sums) const override {
    std::vector<MetricValue> values;
    for (size_t t = 0; t < names_.size(); ++t)
      values.push_back({"output_" + names_[t], sums[t] / sums.back()});
    return values;
  }

 private:
  std::vector<std::string> names_;
};

}  // namespace

FormulaPtr MakeOutput(const MetricOptions& options) { return std::make_unique<Output>(options); }

}  // namespace tessera
