#ifndef TESSERA_TRAIN_TASK_METER_H_
#define TESSERA_TRAIN_TASK_METER_H_
// Values of an evaluation for each task, by the task's loss.
#include <limits>
#include <string>
#include <vector>

#include "metrics/click_metrics.h"
#include "metrics/formulas/formulas.h"
#include "models/ranking_net_config.h"

namespace tessera {

inline constexpr double kNoValue = std::numeric_limits<double>::quiet_NaN();
// All but the number of examples.
inline constexpr MetricValues kNoClicks = {0, kNoValue, kNoValue, kNoValue, kNoValue};

// Values of one task; NaN where not defined.
struct TaskValues {
  MetricValues clicks = kNoClicks;        // of a task by bce; the examples of any task
  double mse = kNoValue, mae = kNoValue;  // of a task by mse
  double loss(TaskLoss kind) const { return kind == TaskLoss::kBce ? clicks.log_loss : mse; }
};

struct NamedTaskValues {
  std::string task;
  TaskLoss loss = TaskLoss::kBce;
  TaskValues values;
};

// The values of a model's clicks, which are those of its first task, and of every task.
struct EvaluationValues : MetricValues {
  EvaluationValues(const MetricValues& first = kNoClicks) : MetricValues(first) {}  // NOLINT
  double loss = kNoValue;  // Σ_t weight_t · that of task t
  std::vector<NamedTaskValues> tasks;
};

// Adds up the examples of one task.
class TaskMeter {
 public:
  explicit TaskMeter(TaskLoss loss);

  // Examples that count, as metrics of clicks, or with any numbers.
  void Update(const ScoredExamples& examples);
  TaskValues Values() const;

 private:
  TaskLoss loss_;
  ClickMetrics clicks_;
  FormulaPtr mse_, mae_;
  std::vector<double> mse_sums_, mae_sums_;
  int64_t examples_ = 0;
};

}  // namespace tessera
#endif  // TESSERA_TRAIN_TASK_METER_H_
