#include "train/evaluation_metric.h"

#include <array>
#include <cmath>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/nearest.h"

namespace tessera {
namespace {

using enum TaskLoss;
using enum Better;

constexpr char kLoss[] = "loss";

constexpr TaskMetric kTaskMetrics[] = {
    {"auc", "AUC", kBce, kHigher, [](const TaskValues& of) { return of.clicks.auc; }},
    {"log_loss", "log-loss", kBce, kLower, [](const TaskValues& of) { return of.clicks.log_loss; }},
    {"normalized_entropy", "normalized entropy", kBce, kLower,
     [](const TaskValues& of) { return of.clicks.normalized_entropy; }},
    {"calibration", "calibration", kBce, kNeither,
     [](const TaskValues& of) { return of.clicks.calibration; }},
    {"mse", nullptr, kMse, kLower, [](const TaskValues& of) { return of.mse; }},
    {"rmse", "RMSE", kMse, kLower, [](const TaskValues& of) { return std::sqrt(of.mse); }},
    {"mae", "MAE", kMse, kLower, [](const TaskValues& of) { return of.mae; }},
    {"softmax_loss", "softmax loss", kInBatchSoftmax, kLower,
     [](const TaskValues& of) { return of.softmax; }},
    {"in_batch_recall_at_1", "in-batch recall@1", kInBatchSoftmax, kHigher,
     [](const TaskValues& of) { return of.recall[0]; }},
    {"in_batch_recall_at_10", "in-batch recall@10", kInBatchSoftmax, kHigher,
     [](const TaskValues& of) { return of.recall[1]; }},
    {"in_batch_recall_at_20", "in-batch recall@20", kInBatchSoftmax, kHigher,
     [](const TaskValues& of) { return of.recall[2]; }}};
static_assert(kRecallAt == std::array<int64_t, 3>{1, 10, 20});

}  // namespace

std::span<const TaskMetric> AllTaskMetrics() { return kTaskMetrics; }

double EvaluationMetric::ValueIn(const EvaluationValues& values) const {
  return of_task == nullptr ? values.loss : of_task->value(values.tasks[task].values);
}

std::vector<EvaluationMetric> EvaluationMetrics(const std::vector<TrainTask>& tasks) {
  std::vector<EvaluationMetric> metrics;
  for (size_t t = 0; t < tasks.size(); ++t)
    for (const TaskMetric& metric : kTaskMetrics) {
      if (metric.loss != tasks[t].task.loss || metric.better == kNeither) continue;
      const auto add = [&](const std::string& name) {
        metrics.push_back({name, metric.better == kHigher, &metric, t});
      };
      if (t == 0) add(metric.name);
      add(Format("{}-{}", metric.name, tasks[t].task.name));
    }
  metrics.push_back({.name = kLoss, .higher = false});
  return metrics;
}

Error NoEvaluationMetric(const std::string& name, const std::vector<std::string>& names) {
  return Error(NoneIsCalled("metric that evaluations are compared by", name, names));
}

EvaluationMetric FindEvaluationMetric(const std::vector<TrainTask>& tasks,
                                      const std::string& name) {
  const std::string wanted = !name.empty()                     ? name
                             : tasks.front().task.loss == kBce ? kTaskMetrics[0].name
                                                               : kLoss;
  std::vector<std::string> names;
  for (EvaluationMetric& metric : EvaluationMetrics(tasks)) {
    if (metric.name == wanted) return std::move(metric);
    names.push_back(metric.name);
  }
  throw NoEvaluationMetric(wanted, names);
}

}  // namespace tessera
