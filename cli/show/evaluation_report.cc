#include "cli/show/evaluation_report.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/show/numbers.h"
#include "runtime/base/check.h"
#include "train/evaluation_metric.h"

namespace tessera::cli {
namespace {

using Json = nlohmann::ordered_json;
using Rows = std::vector<std::vector<std::string>>;

// "on 1 row for evaluation" by `rows_are` "rows for evaluation".
std::string HeadingOf(int64_t examples, const std::string& rows_are) {
  constexpr std::string_view kRows = "rows";
  if (!rows_are.starts_with(kRows)) return Format("on {} {}", Count(examples), rows_are);
  return Format("on {}{}", Counted(examples, "row"), rows_are.substr(kRows.size()));
}

Rows MetricRows(const MetricValues& values, const std::string& rows_are,
                const std::optional<MetricValues>& optimum) {
  Rows rows = {{HeadingOf(values.examples, rows_are), "model"}};
  if (optimum) rows[0].push_back("best possible");
  for (const TaskMetric& metric : AllTaskMetrics()) {
    if (metric.loss != TaskLoss::kBce) continue;
    rows.push_back({metric.title, Fixed(metric.value({.clicks = values}), 4)});
    if (optimum) rows.back().push_back(Fixed(metric.value({.clicks = *optimum}), 4));
  }
  return rows;
}

// A column a task and a row a metric that some task has; what a task's loss does not have is "–".
Rows TaskRows(const EvaluationValues& values, const std::string& rows_are) {
  Rows rows = {{"on " + rows_are}, {"rows"}};
  for (const NamedTaskValues& task : values.tasks) {
    rows[0].push_back(task.task);
    rows[1].push_back(Count(task.values.clicks.examples));
  }
  for (const TaskMetric& metric : AllTaskMetrics()) {
    const auto has = [&](const NamedTaskValues& task) { return task.loss == metric.loss; };
    if (metric.title == nullptr || std::ranges::none_of(values.tasks, has)) continue;
    rows.push_back({metric.title});
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
  const TaskValues values = {.clicks = given.value_or(kNoClicks)};
  for (const TaskMetric& metric : AllTaskMetrics())
    if (metric.loss == TaskLoss::kBce) json[metric.name] = metric.value(values);
}

void AddEvaluation(Json& json, const std::optional<EvaluationValues>& given) {
  AddMetrics(json, given);
  if (!given || !HasTasks(*given)) return;
  json["loss"] = given->loss;
  for (const NamedTaskValues& task : given->tasks) {
    Json& entry = json["tasks"][task.task];
    entry = {{"examples", task.values.clicks.examples}, {"loss", ToString(task.loss)}};
    for (const TaskMetric& metric : AllTaskMetrics())
      if (metric.loss == task.loss) entry[metric.name] = metric.value(task.values);
  }
}

}  // namespace tessera::cli
