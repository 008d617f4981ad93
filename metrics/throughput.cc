#include "metrics/throughput.h"

#include <algorithm>

#include "runtime/base/check.h"

namespace tessera {
namespace {

constexpr char kTotal[] = "total_examples", kLifetime[] = "lifetime", kWindow[] = "window",
               kBatches[] = "num_batch";

}  // namespace

void CheckBatchSizeStages(const std::vector<BatchSizeStage>& stages) {
  int64_t end = 0;
  for (size_t i = 0; i < stages.size(); ++i) {
    const bool last = i + 1 == stages.size();
    TESSERA_CHECK(stages[i].max_iters.has_value() != last,
                  "batch_size_stages: stage {} of {} has {} max_iters; expected one of all but the "
                  "last",
                  i + 1, stages.size(), last ? "a" : "no");
    if (last) break;
    TESSERA_CHECK(*stages[i].max_iters > end,
                  "batch_size_stages: stage {} ends at step {}, after {}", i + 1,
                  *stages[i].max_iters, end);
    end = *stages[i].max_iters;
  }
}

void Throughput::Counted::operator+=(const Counted& other) {
  examples += other.examples;
  seconds += other.seconds;
}

Throughput::Throughput(const ThroughputOptions& options, Clock clock)
    : options_(options), clock_(std::move(clock)) {
  TESSERA_CHECK(options.window_seconds > 0, "throughput: expected a window above 0 s, got {}",
                options.window_seconds);
  TESSERA_CHECK_GT(options.warmup_steps, 0, "throughput: warmup_steps");
  CheckBatchSizeStages(options.batch_size_stages);
}

void Throughput::Update(const MetricBatch& batch) {
  const double now = clock_();
  const Counted step{static_cast<double>(batch.size()), now - previous_};
  previous_ = now;
  total_examples_ += step.examples;
  ++batches_;
  if (++steps_ <= options_.warmup_steps) return;
  lifetime_ += step;
  in_window_ += step;
  window_.push_back(step);
  while (in_window_.seconds > options_.window_seconds && window_.size() > 1) {
    in_window_ += {-window_.front().examples, -window_.front().seconds};
    window_.pop_front();
  }
}

MetricState Throughput::Summary() const {
  MetricState summary = {
      {kTotal, HostTensor(std::vector<double>{total_examples_})},
      {kLifetime, HostTensor(std::vector<double>{lifetime_.examples, lifetime_.seconds})},
      {kWindow, HostTensor(std::vector<double>{in_window_.examples, in_window_.seconds})}};
  if (!options_.batch_size_stages.empty())
    summary[kBatches] = HostTensor(std::vector<int64_t>{batches_});
  return summary;
}

int64_t Throughput::BatchSizeNow(int64_t batches) const {
  for (const BatchSizeStage& stage : options_.batch_size_stages)
    if (!stage.max_iters || batches <= *stage.max_iters) return stage.batch_size;
  return 0;
}

std::vector<MetricValue> Throughput::Values(std::span<const MetricState> summaries) const {
  double total = 0;
  Counted lifetime, window;
  const auto merge = [](Counted& into, std::span<const double> rank) {
    into = {into.examples + rank[0], std::max(into.seconds, rank[1])};
  };
  for (const MetricState& summary : summaries) {
    total += ColumnOf<double>(summary, kTotal)[0];
    merge(lifetime, ColumnOf<double>(summary, kLifetime));
    merge(window, ColumnOf<double>(summary, kWindow));
  }
  std::vector<MetricValue> values = {{"total_examples", total}};
  if (!options_.batch_size_stages.empty()) {  // ranks step together
    const int64_t batches = ColumnOf<int64_t>(summaries[0], kBatches)[0];
    values.push_back({"batch_size", static_cast<double>(BatchSizeNow(batches))});
  }
  if (lifetime.seconds <= 0) return values;
  values.push_back({"lifetime_throughput", lifetime.examples / lifetime.seconds});
  values.push_back(
      {"window_throughput", window.seconds > 0 ? window.examples / window.seconds : 0});
  return values;
}

MetricState Throughput::State() const {
  MetricState state = Summary();
  state.erase(kWindow);
  return state;
}

void Throughput::Load(std::span<const MetricState> states) {
  total_examples_ = 0;
  lifetime_ = in_window_ = {};
  window_.clear();
  steps_ = batches_ = 0;
  for (const MetricState& state : states) {
    if (const auto saved = state.find(kBatches); saved != state.end())
      batches_ = std::max(batches_, saved->second.ToVector<int64_t>().at(0));
    const auto lifetime = ColumnOf<double>(state, kLifetime);
    total_examples_ += ColumnOf<double>(state, kTotal)[0];
    lifetime_ = {lifetime_.examples + lifetime[0], std::max(lifetime_.seconds, lifetime[1])};
  }
}

}  // namespace tessera
