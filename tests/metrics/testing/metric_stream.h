#ifndef TESSERA_TESTS_METRICS_TESTING_METRIC_STREAM_H_
#define TESSERA_TESTS_METRICS_TESTING_METRIC_STREAM_H_
// Random batches with everything that any metric asks for, as a model's output.
#include <random>
#include <string>
#include <vector>

#include "metrics/metric_registry.h"
#include "metrics/rec_metric_module.h"

namespace tessera::testing {

inline constexpr int64_t kClasses = 4, kGroups = 3;

struct MetricColumns {
  std::vector<float> p, y, w, x;  // x: a tensor to be averaged
  std::vector<float> scores;      // [n, kClasses]
  std::vector<float> classes;     // labels of them; also a set of two labels as a number
  std::vector<float> predicted_set;
  std::vector<int64_t> sessions, groups, candidates;

  size_t size() const { return y.size(); }
  ScoredExamples view() const { return {p, y, w}; }
  ModelOutput Output() const {
    return {{"prediction", HostTensor(p)},
            {"label", HostTensor(y)},
            {"weight", HostTensor(w)},
            {"latest_imp", HostTensor(x)},
            {"total_latest_imp", HostTensor(w)},
            {"scores", HostTensor(scores)},
            {"class", HostTensor(classes)},
            {"predicted_set", HostTensor(predicted_set)},
            {"session", HostTensor(sessions)},
            {"grouping_keys", HostTensor(groups)},
            {"num_candidates", HostTensor(candidates)}};
  }
};

// Weights are quarters, so that sums of them are exact; predictions on 64 levels tie now and then.
inline MetricColumns RandomColumns(std::mt19937& random, size_t n) {
  MetricColumns c;
  for (size_t i = 0; i < n; ++i) {
    c.p.push_back(static_cast<float>(random() % 64) / 64 + 0.005f);
    c.y.push_back(static_cast<float>(random() % 2));
    c.w.push_back(static_cast<float>(random() % 9) / 4);
    c.x.push_back(static_cast<float>(random() % 100) / 16);
    for (int64_t k = 0; k < kClasses; ++k) c.scores.push_back(static_cast<float>(random() % 5) / 4);
    c.classes.push_back(static_cast<float>(random() % kClasses));
    c.predicted_set.push_back(static_cast<float>((i * 5 + n) % 4));
    c.sessions.push_back(static_cast<int64_t>(random() % 5) - 2);
    c.groups.push_back(static_cast<int64_t>(random() % kGroups));
  }
  for (size_t left = n; left > 0;) {
    const size_t length = std::min<size_t>(left, random() % 6);
    c.candidates.push_back(static_cast<int64_t>(length));
    left -= length;
  }
  return c;
}

// Options of a metric that has to be told something.
inline MetricOptions OptionsFor(const MetricKind& kind) {
  MetricOptions options;
  options.include_logloss = options.include_r_squared = true;
  options.recalibration_coefficient = 0.25;
  options.number_of_classes = kClasses;
  options.num_labels = 2;
  options.num_groups = kGroups;
  options.top_threshold = 2;
  options.warmup_steps = 1;
  options.grouped = !kind.grouped_option.empty();
  return options;
}

// Every metric there is, for one task "t"; tensor_weighted_avg for a task of its own, as its values
// are called like weighted_avg's.
inline RecMetricsConfig AllMetrics(int64_t window_size) {
  RecMetricsConfig config;
  const RecTask task{.name = "t", .weight_name = "weight", .session_name = "session"};
  RecTask classes = task, tensor = task, sets = task;
  classes.name = "classes";
  classes.label_name = "class";
  classes.prediction_name = "scores";
  sets.name = "sets";
  sets.label_name = "class";
  sets.prediction_name = "predicted_set";
  tensor.name = "tensor";
  tensor.tensor_name = "latest_imp";
  config.tasks = {task, classes, tensor, sets};
  config.throughput = {.window_seconds = 5, .warmup_steps = 1};
  for (const MetricKind& kind : AllMetricKinds())
    config.metrics.push_back({.name = kind.name,
                              .tasks = {kind.name == "multiclass_recall"       ? "classes"
                                        : kind.name == "multi_label_precision" ? "sets"
                                        : kind.name == "tensor_weighted_avg"   ? "tensor"
                                                                               : "t"},
                              .window_size = window_size,
                              .options = OptionsFor(kind)});
  return config;
}

// One second a call.
inline Clock CountingClock() {
  return [seconds = 0.0]() mutable { return ++seconds; };
}

}  // namespace tessera::testing
#endif  // TESSERA_TESTS_METRICS_TESTING_METRIC_STREAM_H_
