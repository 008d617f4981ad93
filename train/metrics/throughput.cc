#include "train/metrics/throughput.h"

#include <algorithm>

#include "runtime/check.h"

namespace tessera {
namespace {

constexpr char kTotal[] = "total_examples", kLifetime[] = "lifetime", kWindow[] = "window";

}  // namespace

void Throughput::Counted::operator+=(const Counted& other) {
  examples += other.examples;
  seconds += other.seconds;
}

Throughput::Throughput(const ThroughputOptions& options, Clock clock)
    : options_(options), clock_(std::move(clock)) {
  TESSERA_CHECK(options.window_seconds > 0, "throughput: expected a window above 0 s, got {}",
                options.window_seconds);
  TESSERA_CHECK_GT(options.warmup_steps, 0, "throughput: warmup_steps");
}

void Throughput::Update(const MetricBatch& batch) {
  const double now = clock_();
  const Counted step{static_cast<double>(batch.size()), now - previous_};
  previous_ = now;
  total_examples_ += step.examples;
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
  return {{kTotal, HostTensor(std::vector<double>{total_examples_})},
          {kLifetime, HostTensor(std::vector<double>{lifetime_.examples, lifetime_.seconds})},
          {kWindow, HostTensor(std::vector<double>{in_window_.examples, in_window_.seconds})}};
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
  steps_ = 0;
  for (const MetricState& state : states) {
    const auto lifetime = ColumnOf<double>(state, kLifetime);
    total_examples_ += ColumnOf<double>(state, kTotal)[0];
    lifetime_ = {lifetime_.examples + lifetime[0], std::max(lifetime_.seconds, lifetime[1])};
  }
}

}  // namespace tessera
