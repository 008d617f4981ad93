#ifndef TESSERA_TRAIN_EVALUATION_METRIC_H_
#define TESSERA_TRAIN_EVALUATION_METRIC_H_
// The values of an evaluation by name: those of tasks, by the task's loss, and the loss of all.
//
//   "auc"        of the first task; "auc-like": of the task "like"
//   "loss"       Σ_t weight_t · loss of task t, over the tasks whose examples weigh more than 0
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "runtime/base/check.h"
#include "train/task_meter.h"
#include "train/task_rows.h"

namespace tessera {

// Which of two values is better. A calibration is best near 1, where no comparison leads.
enum class Better { kHigher, kLower, kNeither };

// A metric of tasks of one loss.
struct TaskMetric {
  const char* name;   // "auc", as in --json
  const char* title;  // "AUC", as in tables; null: not in tables
  TaskLoss loss;
  Better better;
  double (*value)(const TaskValues& of);
};
// Those of all losses, in the order of reports.
std::span<const TaskMetric> AllTaskMetrics();

// A metric by which evaluations are compared.
struct EvaluationMetric {
  std::string name;
  bool higher = true;                   // values are better, else lower ones
  const TaskMetric* of_task = nullptr;  // null: the loss of all tasks
  size_t task = 0;                      // its number

  double ValueIn(const EvaluationValues& values) const;
  bool IsBetter(double value, double than) const { return higher ? value > than : value < than; }
  // The best value that there can be: higher ones are shares, lower ones are losses.
  double limit() const { return higher ? 1 : 0; }
};

// The metrics that evaluations can be compared by; those of the first task also have bare names.
std::vector<EvaluationMetric> EvaluationMetrics(const std::vector<TrainTask>& tasks);
// The metric of that name, or for "" the AUC of the first task if that learns clicks, else the
// loss. Throws Error, which lists the names that there are, for another one.
EvaluationMetric FindEvaluationMetric(const std::vector<TrainTask>& tasks, const std::string& name);

// Makes the error for a name that is none of these.
Error NoEvaluationMetric(const std::string& name, const std::vector<std::string>& names);

}  // namespace tessera
#endif  // TESSERA_TRAIN_EVALUATION_METRIC_H_
