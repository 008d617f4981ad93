#include "cli/show/evaluation_report.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/show/numbers.h"
#include "runtime/base/check.h"

namespace tessera::cli {
namespace {

using Json = nlohmann::ordered_json;
using Rows = std::vector<std::vector<std::string>>;

Rows MetricRows(const MetricValues& values, const std::string& rows_are,
                const std::optional<MetricValues>& optimum) {
  Rows rows = {
      {Format("on {} {}", WithCommas(static_cast<double>(values.examples)), rows_are), "model"}};
  if (optimum) rows[0].push_back("best possible");
  const auto add = [&](const char* name, double MetricValues::*member) {
    rows.push_back({name, Fixed(values.*member, 4)});
    if (optimum) rows.back().push_back(Fixed((*optimum).*member, 4));
  };
  add("AUC", &MetricValues::auc);
  add("log-loss", &MetricValues::log_loss);
  add("normalized entropy", &MetricValues::normalized_entropy);
  add("calibration", &MetricValues::calibration);
  return rows;
}

// A metric of tasks of one loss.
struct TaskMetric {
  const char* name;
  TaskLoss loss;
  double (*value)(const TaskValues& of);
};
constexpr TaskMetric kTaskMetrics[] = {
    {"AUC", TaskLoss::kBce, [](const TaskValues& of) { return of.clicks.auc; }},
    {"log-loss", TaskLoss::kBce, [](const TaskValues& of) { return of.clicks.log_loss; }},
    {"normalized entropy", TaskLoss::kBce,
     [](const TaskValues& of) { return of.clicks.normalized_entropy; }},
    {"calibration", TaskLoss::kBce, [](const TaskValues& of) { return of.clicks.calibration; }},
    {"RMSE", TaskLoss::kMse, [](const TaskValues& of) { return std::sqrt(of.mse); }},
    {"MAE", TaskLoss::kMse, [](const TaskValues& of) { return of.mae; }},
    {"softmax loss", TaskLoss::kInBatchSoftmax, [](const TaskValues& of) { return of.softmax; }},
    {"in-batch recall@1", TaskLoss::kInBatchSoftmax,
     [](const TaskValues& of) { return of.recall[0]; }},
    {"in-batch recall@10", TaskLoss::kInBatchSoftmax,
     [](const TaskValues& of) { return of.recall[1]; }},
    {"in-batch recall@20", TaskLoss::kInBatchSoftmax,
     [](const TaskValues& of) { return of.recall[2]; }}};

// A column a task and a row a metric that some task has; what a task's loss does not have is "–".
Rows TaskRows(const EvaluationValues& values, const std::string& rows_are) {
  Rows rows = {{"on " + rows_are}, {"rows"}};
  for (const NamedTaskValues& task : values.tasks) {
    rows[0].push_back(task.task);
    rows[1].push_back(WithCommas(static_cast<double>(task.values.clicks.examples)));
  }
  for (const TaskMetric& metric : kTaskMetrics) {
    const auto has = [&](const NamedTaskValues& task) { return task.loss == metric.loss; };
    if (std::ranges::none_of(values.tasks, has)) continue;
    rows.push_back({metric.name});
    for (const NamedTaskValues& task : values.tasks)
      rows.back().push_back(has(task) ? Fixed(metric.value(task.values), 4) : "–");
  }
  return rows;
}

}  // namespace

bool HasTasks(const EvaluationValues& values) {
  return values.tasks.size() > 1 ||
         (values.tasks.size() == 1 && values.tasks[0].loss != TaskLoss::kBce);
}

std::string ShortText(const NamedTaskValues& task) {
  if (task.loss == TaskLoss::kMse) return Format("RMSE {}", Fixed(std::sqrt(task.values.mse), 4));
  if (task.loss == TaskLoss::kInBatchSoftmax)
    return Format("softmax loss {}  in-batch recall@20 {}", Fixed(task.values.softmax, 4),
                  Fixed(task.values.recall[2], 4));
  return Format("AUC {}  log-loss {}", Fixed(task.values.clicks.auc, 4),
                Fixed(task.values.clicks.log_loss, 4));
}

std::string EvaluationTable(const EvaluationValues& values, const std::string& rows_are,
                            const std::optional<MetricValues>& optimum) {
  return TextTable(HasTasks(values) ? TaskRows(values, rows_are)
                                    : MetricRows(values, rows_are, optimum));
}

void AddMetrics(Json& json, const std::optional<MetricValues>& given) {
  const MetricValues values = given.value_or(kNoClicks);
  json["auc"] = values.auc;
  json["log_loss"] = values.log_loss;
  json["normalized_entropy"] = values.normalized_entropy;
  json["calibration"] = values.calibration;
}

void AddEvaluation(Json& json, const std::optional<EvaluationValues>& given) {
  AddMetrics(json, given);
  if (!given || !HasTasks(*given)) return;
  json["loss"] = given->loss;
  for (const NamedTaskValues& task : given->tasks) {
    Json& entry = json["tasks"][task.task];
    entry = {{"examples", task.values.clicks.examples}, {"loss", ToString(task.loss)}};
    if (task.loss == TaskLoss::kBce) {
      AddMetrics(entry, task.values.clicks);
    } else if (task.loss == TaskLoss::kInBatchSoftmax) {
      entry["softmax_loss"] = task.values.softmax;
      for (size_t k = 0; k < kRecallAt.size(); ++k)
        entry[Format("in_batch_recall_at_{}", kRecallAt[k])] = task.values.recall[k];
    } else {
      entry["mse"] = task.values.mse;
      entry["rmse"] = std::sqrt(task.values.mse);
      entry["mae"] = task.values.mae;
    }
  }
}

}  // namespace tessera::cli
