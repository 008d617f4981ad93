#ifndef TESSERA_METRICS_REC_METRICS_CONFIG_H_
#define TESSERA_METRICS_REC_METRICS_CONFIG_H_
// Which metrics a RecMetricModule has, as TorchRec's MetricsConfig says it:
//
//   {"rec_tasks": [{"name", "label_name", "prediction_name", "weight_name", "session_name",
//                   "tensor_name", "is_negative_task"}, …],
//    "rec_metrics": {"ne": {"tasks": [...], "window_size", and the metric's options}, …},
//    "throughput_metric": {"window_seconds", "warmup_steps",
//                          "batch_size_stages": [{"batch_size", "max_iters"}, …]},   or null
//    "compute_interval_steps", "min_compute_interval", "max_compute_interval",
//    "should_validate_update"}
//
// A task's names are those of tensors of the model's output. Everything but a task's name may be
// left out.
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "metrics/formulas/metric_options.h"
#include "metrics/throughput.h"

namespace tessera {

struct RecTask {
  std::string name = "DefaultTask";
  std::string label_name = "label", prediction_name = "prediction";
  std::string weight_name = {};   // "": all weights are 1
  std::string session_name = {};  // for metrics of sessions
  std::string tensor_name = {};   // for tensor_weighted_avg
  bool is_negative_task = false;  // ndcg: of 1 − prediction and 1 − label
  friend bool operator==(const RecTask&, const RecTask&) = default;
};

struct RecMetricDef {
  std::string name;
  std::vector<std::string> tasks = {};  // names; empty: all
  int64_t window_size = 10'000'000;     // of all ranks together; each has its share, rounded up
  MetricOptions options = {};
  friend bool operator==(const RecMetricDef&, const RecMetricDef&) = default;
};

struct RecMetricsConfig {
  std::vector<RecTask> tasks = {RecTask{}};
  std::vector<RecMetricDef> metrics = {};
  std::optional<ThroughputOptions> throughput = ThroughputOptions{};
  int64_t compute_interval_steps = 100;
  // Seconds between two computations. If one of these is given, compute_interval_steps is set anew
  // after the second computation, so that they lie within.
  double min_compute_interval = 0, max_compute_interval = std::numeric_limits<double>::infinity();
  // Leaves out batches all of whose weights are 0.
  bool should_validate_update = false;
  friend bool operator==(const RecMetricsConfig&, const RecMetricsConfig&) = default;
};

// Throws Error that begins with `source` (a file's name) and says which key, what was expected and
// what came.
RecMetricsConfig ParseRecMetricsConfig(const std::string& text, const std::string& source);

// The document, every key spelled out; ParseRecMetricsConfig gives the same configuration back.
std::string ToJson(const RecMetricsConfig& config);

}  // namespace tessera
#endif  // TESSERA_METRICS_REC_METRICS_CONFIG_H_
