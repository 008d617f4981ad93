#include "train/metrics/click_metrics.h"

#include <algorithm>
#include <limits>

#include "runtime/check.h"
#include "train/metrics/auc.h"

namespace tessera {
namespace {

MetricValues Values(const ClickSums& sums, double auc) {
  return {sums.examples, auc, sums.LogLoss(), sums.NormalizedEntropy(), sums.Calibration()};
}

}  // namespace

void ClickMetrics::Examples::Append(const ScoredExamples& batch) {
  predictions.insert(predictions.end(), batch.predictions.begin(), batch.predictions.end());
  labels.insert(labels.end(), batch.labels.begin(), batch.labels.end());
  for (size_t i = 0; i < batch.size(); ++i) weights.push_back(batch.weight(i));
}

void ClickMetrics::Examples::KeepLast(size_t count) {
  if (labels.size() - begin > count) begin = labels.size() - count;
  if (begin <= labels.size() / 2) return;  // moves each example at most once, on average
  for (std::vector<float>* column : {&predictions, &labels, &weights})
    column->erase(column->begin(), column->begin() + static_cast<std::ptrdiff_t>(begin));
  begin = 0;
}

ScoredExamples ClickMetrics::Examples::view() const {
  const auto from = [&](const std::vector<float>& column) {
    return std::span(column).subspan(begin);
  };
  return {from(predictions), from(labels), from(weights)};
}

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
  ScoredExamples last = examples_.view();
  const size_t count = std::min(last.size(), static_cast<size_t>(options_.window));
  last = {last.predictions.last(count), last.labels.last(count), last.weights.last(count)};
  return Values(sums, Auc(last));
}

}  // namespace tessera
