#include "train/optimum.h"

#include <vector>

#include "runtime/base/check.h"

namespace tessera {

MetricValues ComputeOptimum(const ClickModel& model, const RowRange& rows) {
  TESSERA_CHECK_NE(rows.last, RowRange::kEnd, "end of the rows");
  std::vector<float> truth, labels;
  for (int64_t n = rows.first; n < rows.last; ++n) {
    const ClickRow row = model.Row(n);
    truth.push_back(static_cast<float>(model.Probability(row)));
    labels.push_back(row.label);
  }
  ClickMetrics metrics;
  metrics.Update({truth, labels, {}});
  return metrics.Lifetime();
}

}  // namespace tessera
