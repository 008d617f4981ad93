#include "metrics/click_metrics.h"

#include <limits>

#include "metrics/formulas/auc.h"
#include "runtime/base/check.h"

namespace tessera {
namespace {

MetricValues Values(const ClickSums& sums, double auc) {
  return {sums.examples, auc, sums.LogLoss(), sums.NormalizedEntropy(), sums.Calibration()};
}

}  // namespace

ClickMetrics::ClickMetrics(ClickMetricsOptions options) : options_(options) {
  TESSERA_CHECK_GT(options.window, 0, "window of the metrics");
}

void ClickMetrics::Update(const ScoredExamples& batch) {
  const ClickSums sums = ClickSums::Of(batch);
  lifetime_ += sums;
  window_.push_back(sums);
  window_examples_ += sums.examples;
  while (window_examples_ > options_.window && window_.size() > 1) {
    window_examples_ -= window_.front().examples;
    window_.pop_front();
  }
  examples_.Append(batch);
  if (!options_.lifetime_auc) examples_.KeepLast(static_cast<size_t>(options_.window));
}

MetricValues ClickMetrics::Lifetime() const {
  return Values(lifetime_, options_.lifetime_auc ? Auc(examples_.view())
                                                 : std::numeric_limits<double>::quiet_NaN());
}

MetricValues ClickMetrics::Window() const {
  ClickSums sums;
  for (const ClickSums& batch : window_) sums += batch;
  return Values(sums, Auc(examples_.Last(static_cast<size_t>(options_.window))));
}

}  // namespace tessera
