#include "metrics/formulas/example_metric.h"

#include "metrics/state/sessions.h"
#include "runtime/base/check.h"

namespace tessera {
namespace {

constexpr char kPredictions[] = "predictions", kLabels[] = "labels", kWeights[] = "weights",
               kGroups[] = "grouping_keys", kLifetime[] = "lifetime";

// The least positive prediction of apply_bin, as in TorchRec.
constexpr float kLeastPositive = 0.039f;

// The last examples of one rank.
struct Part {
  ScoredExamples examples;
  std::span<const int64_t> groups;
};

Part LastOf(const MetricState& state, size_t count) {
  const auto end_of = [&](auto column) { return column.last(std::min(count, column.size())); };
  return {{end_of(ColumnOf<float>(state, kPredictions)), end_of(ColumnOf<float>(state, kLabels)),
           end_of(ColumnOf<float>(state, kWeights))},
          end_of(ColumnOf<int64_t>(state, kGroups))};
}

KeptExamples LastOfAll(std::span<const MetricState> states, size_t count) {
  KeptExamples all;
  for (const MetricState& state : states) {
    const Part part = LastOf(state, count);
    all.Append(part.examples, part.groups);
  }
  return all;
}

// Examples of ranks that updated together, those that came first at the front, then by rank.
KeptExamples AllByAge(std::span<const MetricState> states) {
  if (states.size() == 1) return LastOfAll(states, SIZE_MAX);
  size_t oldest = 0;
  for (const MetricState& state : states)
    oldest = std::max(oldest, ColumnOf<float>(state, kLabels).size());
  KeptExamples all;
  for (size_t age = oldest; age > 0; --age)
    for (const MetricState& state : states) {
      const Part part = LastOf(state, age);
      if (part.examples.size() < age) continue;
      const auto first = [](auto column) {
        return column.first(std::min<size_t>(1, column.size()));
      };
      all.Append({first(part.examples.predictions), first(part.examples.labels),
                  first(part.examples.weights)},
                 first(part.groups));
    }
  return all;
}

BinnedScores LifetimeOfAll(std::span<const MetricState> states, int64_t num_bins) {
  BinnedScores all(num_bins);
  for (const MetricState& state : states) all.Add(ColumnOf<double>(state, kLifetime));
  return all;
}

std::vector<float> Pick(std::span<const float> column, std::span<const int32_t> which) {
  std::vector<float> picked;
  for (const int32_t i : which) picked.push_back(column[static_cast<size_t>(i)]);
  return picked;
}

}  // namespace

ExampleMetric::ExampleMetric(ExampleFormula formula, int64_t window_size)
    : formula_(std::move(formula)), window_size_(static_cast<size_t>(window_size)) {
  TESSERA_CHECK_GT(window_size, 0, "window of a metric");
  if (formula_.lifetime != nullptr) lifetime_.emplace(formula_.num_bins);
}

void ExampleMetric::Update(const MetricBatch& batch) {
  CheckSizes(batch.examples);
  if (formula_.grouped) {
    TESSERA_CHECK_EQ(batch.grouping_keys.size(), batch.size(), "{}: grouping_keys", formula_.name);
    examples_.Append(batch.examples, batch.grouping_keys);
  } else {
    examples_.Append(batch.examples);
  }
  examples_.KeepLast(window_size_);
  if (lifetime_) lifetime_->Add(batch.examples);
}

MetricState ExampleMetric::Summary() const {
  const ScoredExamples view = examples_.view();
  const Shape shape = {static_cast<int64_t>(view.size())};
  const std::span<const int64_t> groups = examples_.groups();
  MetricState summary = {{kPredictions, HostTensor(view.predictions, shape)},
                         {kLabels, HostTensor(view.labels, shape)},
                         {kWeights, HostTensor(view.weights, shape)},
                         {kGroups, HostTensor(groups, {static_cast<int64_t>(groups.size())})}};
  if (lifetime_) summary[kLifetime] = HostTensor(lifetime_->sums(), {formula_.num_bins, 2});
  return summary;
}

double ExampleMetric::ValueOf(const ScoredExamples& examples) const {
  if (!formula_.bin_labels) return formula_.value(examples);
  std::vector<float> labels;
  for (const float y : examples.labels) labels.push_back(y >= kLeastPositive ? 1.0f : 0.0f);
  return formula_.value({examples.predictions, labels, examples.weights});
}

double ExampleMetric::MeanOverGroups(const ScoredExamples& examples,
                                     std::span<const int64_t> groups) const {
  double sum = 0;
  int64_t count = 0;
  ForEachSession(groups, [&](std::span<const int32_t> members) {
    const auto p = Pick(examples.predictions, members), y = Pick(examples.labels, members),
               w = Pick(examples.weights, members);
    sum += formula_.value({p, y, w});
    ++count;
  });
  return count > 0 ? sum / static_cast<double>(count) : 0.5;
}

std::vector<MetricValue> ExampleMetric::Values(std::span<const MetricState> summaries) const {
  std::vector<MetricValue> values;
  if (lifetime_)
    values.push_back({"lifetime_" + formula_.name,
                      formula_.lifetime(LifetimeOfAll(summaries, formula_.num_bins))});
  const KeptExamples window = LastOfAll(summaries, window_size_);
  values.push_back({"window_" + formula_.name, ValueOf(window.view())});
  if (formula_.grouped)
    values.push_back(
        {"window_grouped_" + formula_.name, MeanOverGroups(window.view(), window.groups())});
  return values;
}

void ExampleMetric::Load(std::span<const MetricState> states) {
  if (lifetime_) lifetime_ = LifetimeOfAll(states, formula_.num_bins);
  examples_ = AllByAge(states);
}

// Ranks get the examples in turns.
void ExampleMetric::DealWindow(std::span<const MetricState> states, int rank, int ranks) {
  const KeptExamples all = AllByAge(states);
  const ScoredExamples view = all.view();
  std::vector<int32_t> mine;
  for (size_t i = static_cast<size_t>(rank); i < all.size(); i += static_cast<size_t>(ranks))
    mine.push_back(static_cast<int32_t>(i));
  const auto p = Pick(view.predictions, mine), y = Pick(view.labels, mine),
             w = Pick(view.weights, mine);
  std::vector<int64_t> groups;
  if (!all.groups().empty())
    for (const int32_t i : mine) groups.push_back(all.groups()[static_cast<size_t>(i)]);
  examples_ = {};
  examples_.Append({p, y, w}, groups);
}

}  // namespace tessera
