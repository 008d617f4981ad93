#include "train/config/evaluation_json.h"

#include <algorithm>

#include "metrics/rec_metrics_json.h"
#include "runtime/base/size_limits.h"

namespace tessera::internal {
namespace {

void ReadInterval(JsonObject& object, EvaluationConfig& config) {
  const Json* const steps = object.Find("every_steps", TypeSchema(config.every_steps));
  object.Note("every_steps", Within(1, SizeLimits::kSteps));
  const Json* const fraction = object.Find("every", TypeSchema(config.every));
  object.Note("every", {{"exclusiveMinimum", 0}, {"exclusiveMaximum", 1}});
  if (steps != nullptr && fraction != nullptr)
    throw Error(Format("{} beside {}: expected one of the two", object.at("every"),
                       object.at("every_steps")));
  if (steps != nullptr) {
    ReadJson(*steps, object.at("every_steps"), config.every_steps);
    CheckPositive(config.every_steps, SizeLimits::kSteps, object.at("every_steps"));
  }
  if (fraction == nullptr) return;
  ReadJson(*fraction, object.at("every"), config.every);
  if (!(config.every > 0 && config.every < 1))
    ThrowExpected(object.at("every"), "a fraction of an epoch, above 0 and below 1", *fraction);
}

// The loss of the model's task that a task of metrics measures. A model without tasks learns
// clicks, and predictions that nobody knows are refused where the training begins.
TaskLoss LossOf(const RecTask& task, const std::vector<TaskConfig>& learned) {
  if (learned.empty()) return TaskLoss::kBce;
  if (task.prediction_name == RecTask().prediction_name) return learned.front().loss;
  for (const TaskConfig& one : learned)
    if (RecTaskOf(one.name).prediction_name == task.prediction_name) return one.loss;
  return TaskLoss::kBce;
}

std::vector<RecMetricDef> DefaultMetricsOf(const std::vector<RecTask>& tasks,
                                           const TrainConfig& config) {
  const int64_t window = std::max<int64_t>(100'000, ExamplesOfStep(config));
  std::vector<std::string> clicks, numbers;
  for (const RecTask& task : tasks) {
    const TaskLoss loss = LossOf(task, config.model.tasks);
    if (loss == TaskLoss::kBce) clicks.push_back(task.name);
    if (loss == TaskLoss::kMse) numbers.push_back(task.name);
  }
  std::vector<RecMetricDef> metrics;
  if (!clicks.empty())
    for (const char* name : {"ne", "calibration", "auc"})
      metrics.push_back({.name = name, .tasks = clicks, .window_size = window});
  if (!numbers.empty()) metrics.push_back({.name = "mse", .tasks = numbers, .window_size = window});
  return metrics;
}

}  // namespace

EvaluationConfig EvaluationFromJson(const Json& value, const std::string& where,
                                    JsonProblems* problems) {
  JsonObject object(value, where, problems);
  EvaluationConfig config;
  object.Try([&] { ReadInterval(object, config); });
  object.Try([&] {
    object.Optional("metric", config.metric);
    object.Note("metric", {{"minLength", 1}});
    const Json* metric = object.Find("metric");
    if (metric != nullptr && config.metric.empty())
      ThrowExpected(object.at("metric"), "a metric's name", *metric);
  });
  object.Try([&] {
    const Json* target = object.Find("target", TypeSchema(0.0));
    if (target != nullptr) ReadJson(*target, object.at("target"), config.target.emplace());
  });
  object.Try([&] { object.OptionalCount("patience", config.patience, SizeLimits::kSteps); });
  object.Finish();
  return config;
}

Json EvaluationToJson(const EvaluationConfig& config) {
  Json json = Json::object();
  if (config.every_steps > 0) json["every_steps"] = config.every_steps;
  if (config.every > 0) json["every"] = config.every;
  if (!config.metric.empty()) json["metric"] = config.metric;
  if (config.target) json["target"] = *config.target;
  json["patience"] = config.patience;
  return json;
}

RecMetricsConfig DefaultMetrics(const TrainConfig& config) {
  RecMetricsConfig metrics{
      .tasks = {{.name = DefaultTaskName(config.data), .weight_name = "weight"}}};
  if (!config.model.tasks.empty()) metrics.tasks = RecTasksOf(config.model.tasks);
  metrics.metrics = DefaultMetricsOf(metrics.tasks, config);
  return metrics;
}

RecMetricsConfig MetricsFromJson(const Json& value, const std::string& where,
                                 JsonProblems* problems, const TrainConfig& config) {
  RecMetricsConfig metrics = RecMetricsFromJson(value, where, problems);
  const bool has_metrics = value.contains("rec_metrics");
  if (!value.contains("rec_tasks") && (!has_metrics || !config.model.tasks.empty()))
    metrics.tasks = DefaultMetrics(config).tasks;
  if (!has_metrics) metrics.metrics = DefaultMetricsOf(metrics.tasks, config);
  return metrics;
}

}  // namespace tessera::internal
