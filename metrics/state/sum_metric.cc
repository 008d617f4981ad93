#include "metrics/state/sum_metric.h"

#include <algorithm>

#include "runtime/base/check.h"

namespace tessera {
namespace {

constexpr char kLifetime[] = "lifetime", kWindow[] = "window", kExamples[] = "window_examples";

void Add(std::span<double> into, std::span<const double> other) {
  for (size_t i = 0; i < into.size(); ++i) into[i] += other[i];
}

void AddPrefixed(const std::string& prefix, std::vector<MetricValue> values,
                 std::vector<MetricValue>& all) {
  for (MetricValue& value : values) all.push_back({prefix + value.name, value.value});
}

}  // namespace

void SumFormula::Merge(std::span<double> into, std::span<const double> other) const {
  Add(into, other);
}

SumMetric::SumMetric(std::unique_ptr<SumFormula> formula, int64_t window_size)
    : formula_(std::move(formula)),
      window_size_(window_size),
      lifetime_(static_cast<size_t>(formula_->num_sums())) {
  TESSERA_CHECK_GT(window_size, 0, "window of a metric");
}

void SumMetric::Update(const MetricBatch& batch) {
  CheckSizes(batch.examples, formula_->num_classes());
  Kept kept{static_cast<int64_t>(batch.size()), Sums(lifetime_.size())};
  const BatchUse use = formula_->AddUp(batch, kept.sums);
  if (use == BatchUse::kNone) return;
  if (formula_->latest())
    lifetime_ = kept.sums;
  else
    Add(lifetime_, kept.sums);
  if (use == BatchUse::kLifetimeAndWindow && formula_->windowed()) Keep(std::move(kept));
}

void SumMetric::Keep(Kept batch) {
  window_examples_ += batch.examples;
  window_.push_back(std::move(batch));
  while (window_.size() > 1 && (window_examples_ > window_size_ || window_.size() > kMaxBatches)) {
    window_examples_ -= window_.front().examples;
    window_.pop_front();
  }
}

SumMetric::Sums SumMetric::WindowSums() const {
  Sums sums(lifetime_.size());
  for (const Kept& batch : window_) Add(sums, batch.sums);
  return sums;
}

MetricState SumMetric::Summary() const {
  MetricState summary = {{kLifetime, HostTensor(lifetime_)}};
  if (formula_->windowed()) summary[kWindow] = HostTensor(WindowSums());
  return summary;
}

SumMetric::Sums SumMetric::Merged(std::span<const MetricState> summaries,
                                  const std::string& name) const {
  Sums sums(lifetime_.size());
  for (const MetricState& summary : summaries) {
    const auto other = ColumnOf<double>(summary, name);
    TESSERA_CHECK_EQ(other.size(), sums.size(), "sums of a metric, '{}'", name);
    formula_->Merge(sums, other);
  }
  return sums;
}

std::vector<MetricValue> SumMetric::Values(std::span<const MetricState> summaries) const {
  const Sums lifetime = Merged(summaries, kLifetime);
  std::vector<MetricValue> values;
  AddPrefixed(formula_->lifetime_prefix(), formula_->Values(lifetime), values);
  if (formula_->windowed())
    AddPrefixed("window_", formula_->Values(Merged(summaries, kWindow)), values);
  AddPrefixed("", formula_->Totals(lifetime), values);
  return values;
}

MetricState SumMetric::State() const {
  Sums window;
  std::vector<int64_t> examples;
  for (const Kept& batch : window_) {
    window.insert(window.end(), batch.sums.begin(), batch.sums.end());
    examples.push_back(batch.examples);
  }
  return {{kLifetime, HostTensor(lifetime_)},
          {kWindow, HostTensor(window)},
          {kExamples, HostTensor(examples)}};
}

SumMetric::Kept SumMetric::KeptIn(const MetricState& state, size_t i) const {
  const auto sums =
      ColumnOf<double>(state, kWindow).subspan(i * lifetime_.size(), lifetime_.size());
  return {ColumnOf<int64_t>(state, kExamples)[i], Sums(sums.begin(), sums.end())};
}

void SumMetric::Load(std::span<const MetricState> states) {
  for (const MetricState& state : states)
    TESSERA_CHECK_EQ(ColumnOf<double>(state, kWindow).size(),
                     ColumnOf<int64_t>(state, kExamples).size() * lifetime_.size(),
                     "sums in the window of a metric");
  lifetime_ = Merged(states, kLifetime);
  DealWindow(states, 0, 1);
}

// Batches of several ranks in the order in which they were added: by age, then by rank. Ranks get
// them in turns.
void SumMetric::DealWindow(std::span<const MetricState> states, int rank, int ranks) {
  size_t oldest = 0;
  for (const MetricState& state : states)
    oldest = std::max(oldest, ColumnOf<int64_t>(state, kExamples).size());
  window_.clear();
  window_examples_ = 0;
  int64_t next = 0;
  for (size_t age = oldest; age > 0; --age)
    for (const MetricState& state : states)
      if (const size_t n = ColumnOf<int64_t>(state, kExamples).size(); age <= n)
        if (next++ % ranks == rank) Keep(KeptIn(state, n - age));
}

}  // namespace tessera
