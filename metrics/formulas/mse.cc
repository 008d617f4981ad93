// `mse` = Σw(y − p)²/Σw and its root `rmse`; with include_r_squared also
// `r_squared` = 1 − Σw(y − p)²/(Σwy² − (Σwy)²/Σw); 1 where labels are alike, as TorchRec has it.
#include <cmath>

#include "metrics/formulas/formulas.h"
#include "metrics/formulas/ratio.h"

namespace tessera {
namespace {

class Mse final : public SumFormula {
 public:
  explicit Mse(const MetricOptions& options)
      : SumFormula(4), include_r_squared_(options.include_r_squared) {}
  BatchUse AddUp(const MetricBatch& batch, std::span<double> sums) override {
    batch.examples.ForEach([&](double p, double y, double w) {
      sums[0] += w * (y - p) * (y - p);
      sums[1] += w;
      sums[2] += w * y;
      sums[3] += w * y * y;
    });
    return BatchUse::kLifetimeAndWindow;
  }
  std::vector<MetricValue> Values(std::span<const double> sums) const override {
    const double mse = RatioOrZero(sums[0], sums[1]);
    std::vector<MetricValue> values = {{"mse", mse}, {"rmse", std::sqrt(mse)}};
    if (include_r_squared_) {
      const double spread = sums[3] - RatioOrZero(sums[2] * sums[2], sums[1]);
      values.push_back({"r_squared", spread == 0 ? 1.0 : 1 - sums[0] / spread});
    }
    return values;
  }

 private:
  bool include_r_squared_;
};

}  // namespace

FormulaPtr MakeMse(const MetricOptions& options) { return std::make_unique<Mse>(options); }

}  // namespace tessera
