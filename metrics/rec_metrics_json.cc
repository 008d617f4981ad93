#include "metrics/rec_metrics_json.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "metrics/metric_registry.h"
#include "runtime/base/size_limits.h"

namespace tessera {
namespace internal {
namespace {

// Names and fields, once for reading and writing.
void VisitFields(auto& task, auto&& visit) {
  visit("label_name", task.label_name);
  visit("prediction_name", task.prediction_name);
  visit("weight_name", task.weight_name);
  visit("session_name", task.session_name);
  visit("tensor_name", task.tensor_name);
  visit("is_negative_task", task.is_negative_task);
}

// The options that the metric looks at.
void VisitOptions(const MetricKind& kind, auto& o, auto&& visit) {
  const auto visit_if = [&](const char* key, auto& field) {
    if (std::count(kind.options.begin(), kind.options.end(), key) > 0) visit(key, field);
  };
  visit_if("include_logloss", o.include_logloss);
  visit_if("allow_missing_label_with_zero_weight", o.allow_missing_label_with_zero_weight);
  visit_if("apply_bin", o.apply_bin);
  visit_if("num_bins", o.num_bins);
  visit_if("grouping_keys", o.grouping_keys);
  visit_if("cast_keys_to_int", o.cast_keys_to_int);
  visit_if("recalibration_coefficient", o.recalibration_coefficient);
  visit_if("include_r_squared", o.include_r_squared);
  visit_if("threshold", o.threshold);
  visit_if("exponential_gain", o.exponential_gain);
  visit_if("k", o.k);
  visit_if("report_ndcg_as_decreasing_curve", o.report_ndcg_as_decreasing_curve);
  visit_if("remove_single_length_sessions", o.remove_single_length_sessions);
  visit_if("scale_by_weights_tensor", o.scale_by_weights_tensor);
  visit_if("number_of_classes", o.number_of_classes);
  visit_if("num_labels", o.num_labels);
  visit_if("label_names", o.label_names);
  visit_if("num_groups", o.num_groups);
  visit_if("target_precision", o.target_precision);
  visit_if("top_threshold", o.top_threshold);
  visit_if("run_ranking_of_labels", o.run_ranking_of_labels);
  visit_if("warmup_steps", o.warmup_steps);
  visit_if("tensors", o.tensors);
  if (!kind.grouped_option.empty()) visit(kind.grouped_option.c_str(), o.grouped);
}

void CheckOptions(const MetricOptions& o, const JsonObject& object) {
  CheckPositive(o.num_groups, SizeLimits::kGroups, object.at("num_groups"));
  CheckPositive(o.num_bins, SizeLimits::kGroups, object.at("num_bins"));
  if (o.grouping_keys.empty())
    ThrowExpected(object.at("grouping_keys"), "a name that is not empty", o.grouping_keys);
  CheckCount(o.number_of_classes, SizeLimits::kGroups, object.at("number_of_classes"));
  CheckPositive(o.warmup_steps, SizeLimits::kSteps, object.at("warmup_steps"));
  if (!(o.recalibration_coefficient > 0))
    ThrowExpected(object.at("recalibration_coefficient"), "a number above 0",
                  o.recalibration_coefficient);
}

RecTask ReadTask(const Json& value, const std::string& where, JsonProblems* problems) {
  JsonObject object(value, where, problems);
  RecTask task;
  object.Try([&] {
    object.Required("name", task.name);
    object.Note("name", {{"minLength", 1}});
    if (task.name.empty()) ThrowExpected(object.at("name"), "a name that is not empty", task.name);
  });
  VisitFields(task, [&](const char* key, auto& field) {
    object.Try([&] { object.Optional(key, field); });
  });
  object.Finish();
  return task;
}

RecMetricDef ReadMetric(const std::string& name, const Json& value, const std::string& where,
                        JsonProblems* problems) {
  const MetricKind* kind = nullptr;
  try {
    kind = &FindMetricKind(name);
  } catch (const Error& error) {
    throw Error(Format("{}: {}", where, error.what()));
  }
  JsonObject object(value, where, problems);
  RecMetricDef metric{.name = name};
  object.Try([&] { object.Optional("tasks", metric.tasks); });
  object.Try(
      [&] { object.OptionalPositive("window_size", metric.window_size, SizeLimits::kRows); });
  VisitOptions(*kind, metric.options, [&](const char* key, auto& field) {
    object.Try([&] { object.Optional(key, field); });
  });
  object.Finish();
  if (problems != nullptr && problems->In(where)) return metric;
  CheckOptions(metric.options, object);
  try {
    kind->make(metric.options, metric.window_size, [] { return 0.0; });
  } catch (const Error& error) {
    throw Error(Format("{}: {}", where, error.what()));
  }
  return metric;
}

void ReadTasks(JsonObject& object, RecMetricsConfig& config) {
  std::vector<RecTask> tasks;
  std::set<std::string> names;
  object.Parts(
      "rec_tasks", JsonNeed::kOptional, 1, "a list of at least one task", [&](const auto&... task) {
        tasks.push_back(ReadTask(task...));
        if (!names.insert(tasks.back().name).second)
          throw Error(Format("{}: two are called '{}'", object.at("rec_tasks"), tasks.back().name));
      });
  if (!tasks.empty()) config.tasks = std::move(tasks);
}

void ReadMetrics(JsonObject& object, RecMetricsConfig& config) {
  std::vector<std::string> names;
  for (const MetricKind& kind : AllMetricKinds()) names.push_back(kind.name);
  object.NamedParts("rec_metrics", names, [&](const std::string& name, const auto&... metric) {
    config.metrics.push_back(ReadMetric(name, metric...));
  });
}

BatchSizeStage ReadStage(const Json& value, const std::string& where, JsonProblems* problems) {
  JsonObject object(value, where, problems);
  BatchSizeStage stage;
  object.Try([&] {
    object.Required("batch_size", stage.batch_size);
    object.Note("batch_size", Within(1, SizeLimits::kBatch));
    CheckPositive(stage.batch_size, SizeLimits::kBatch, object.at("batch_size"));
  });
  object.Try([&] {
    const Json* last = object.Find("max_iters", TypeSchema(int64_t{}));
    object.Note("max_iters", Within(1, SizeLimits::kSteps));
    if (last == nullptr) return;
    ReadJson(*last, object.at("max_iters"), stage.max_iters.emplace());
    CheckPositive(*stage.max_iters, SizeLimits::kSteps, object.at("max_iters"));
  });
  object.Finish();
  return stage;
}

void ReadStages(JsonObject& object, std::vector<BatchSizeStage>& stages) {
  const std::string where = object.at("batch_size_stages");
  const bool good =
      object.Parts("batch_size_stages", JsonNeed::kOptional, 0, "a list",
                   [&](const auto&... stage) { stages.push_back(ReadStage(stage...)); });
  const JsonProblems* const problems = object.problems();
  if (!good || object.describes() || (problems != nullptr && problems->In(where))) return;
  try {
    CheckBatchSizeStages(stages);
  } catch (const Error& error) {
    throw Error(Format("{}: {}", where, error.what()));
  }
}

void ReadThroughput(const Json& value, const std::string& where, JsonProblems* problems,
                    RecMetricsConfig& config) {
  config.throughput.reset();
  if (value.is_null()) return;
  JsonObject throughput(value, where, problems);
  throughput.AlsoTakes("null");
  ThroughputOptions& options = config.throughput.emplace();
  throughput.Try([&] {
    throughput.Optional("window_seconds", options.window_seconds);
    throughput.Note("window_seconds", Above(0));
    if (!(options.window_seconds > 0))
      ThrowExpected(throughput.at("window_seconds"), "a number above 0", options.window_seconds);
  });
  throughput.Try([&] {
    throughput.OptionalPositive("warmup_steps", options.warmup_steps, SizeLimits::kSteps);
  });
  throughput.Try([&] { ReadStages(throughput, options.batch_size_stages); });
  throughput.Finish();
}

void ReadIntervals(JsonObject& object, RecMetricsConfig& config) {
  object.Try([&] {
    object.OptionalPositive("compute_interval_steps", config.compute_interval_steps,
                            SizeLimits::kSteps);
  });
  const bool low =
      object.Try([&] { object.Optional("min_compute_interval", config.min_compute_interval); });
  const bool high =
      object.Try([&] { object.Optional("max_compute_interval", config.max_compute_interval); });
  object.Note("min_compute_interval", AtLeast(0));
  object.Note("max_compute_interval", Above(0));
  if (!low || !high) return;
  if (!(config.min_compute_interval >= 0))
    ThrowExpected(object.at("min_compute_interval"), "a number of at least 0",
                  config.min_compute_interval);
  if (!(config.max_compute_interval > 0 &&
        config.max_compute_interval >= config.min_compute_interval))
    ThrowExpected(object.at("max_compute_interval"),
                  "a number above 0 that is not less than min_compute_interval",
                  config.max_compute_interval);
}

}  // namespace

RecMetricsConfig RecMetricsFromJson(const Json& value, const std::string& where,
                                    JsonProblems* problems) {
  JsonObject object(value, where, problems);
  RecMetricsConfig config;
  object.Try([&] { ReadTasks(object, config); });
  object.Try([&] { ReadMetrics(object, config); });
  object.Part("throughput_metric", JsonNeed::kOptional,
              [&](const auto&... throughput) { ReadThroughput(throughput..., config); });
  object.Try([&] { ReadIntervals(object, config); });
  object.Try([&] { object.Optional("should_validate_update", config.should_validate_update); });
  object.Finish();
  return config;
}

Json RecMetricsToJson(const RecMetricsConfig& config) {
  Json json = {{"rec_tasks", Json::array()}, {"rec_metrics", Json::object()}};
  for (const RecTask& task : config.tasks) {
    Json& entry = json["rec_tasks"].emplace_back(Json{{"name", task.name}});
    VisitFields(task, [&](const char* key, const auto& field) { entry[key] = field; });
  }
  for (const RecMetricDef& metric : config.metrics) {
    Json& entry = json["rec_metrics"][metric.name];
    entry = {{"tasks", metric.tasks}, {"window_size", metric.window_size}};
    VisitOptions(FindMetricKind(metric.name), metric.options,
                 [&](const char* key, const auto& field) { entry[key] = field; });
  }
  json["throughput_metric"] = nullptr;
  if (config.throughput) {
    json["throughput_metric"] = {{"window_seconds", config.throughput->window_seconds},
                                 {"warmup_steps", config.throughput->warmup_steps}};
    for (const BatchSizeStage& stage : config.throughput->batch_size_stages) {
      Json& entry = json["throughput_metric"]["batch_size_stages"].emplace_back(
          Json{{"batch_size", stage.batch_size}});
      if (stage.max_iters) entry["max_iters"] = *stage.max_iters;
    }
  }
  json["compute_interval_steps"] = config.compute_interval_steps;
  json["min_compute_interval"] = config.min_compute_interval;
  if (std::isfinite(config.max_compute_interval))
    json["max_compute_interval"] = config.max_compute_interval;
  json["should_validate_update"] = config.should_validate_update;
  return json;
}

}  // namespace internal

RecMetricsConfig ParseRecMetricsConfig(const std::string& text, const std::string& source) {
  try {
    return internal::RecMetricsFromJson(internal::ParseJson(text), "");
  } catch (const Error& error) {
    throw Error(Format("{}: {}", source, error.what()));
  }
}

std::string ToJson(const RecMetricsConfig& config) {
  return internal::RecMetricsToJson(config).dump();
}

}  // namespace tessera
