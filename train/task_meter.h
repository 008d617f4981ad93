#ifndef TESSERA_TRAIN_TASK_METER_H_
#define TESSERA_TRAIN_TASK_METER_H_
// Values of an evaluation: for each task, by the task's loss, and for the model.
#include <array>
#include <limits>
#include <string>
#include <vector>

#include "metrics/click_metrics.h"
#include "metrics/formulas/formulas.h"
#include "metrics/retrieval_meter.h"
#include "models/ranking_net_config.h"
#include "runtime/tensor.h"
#include "train/task_rows.h"

namespace tessera {

inline constexpr double kNoValue = std::numeric_limits<double>::quiet_NaN();
// All but the number of examples.
inline constexpr MetricValues kNoClicks = {0, kNoValue, kNoValue, kNoValue, kNoValue};

// Values of one task; NaN where not defined.
struct TaskValues {
  double weight = 0;                      // Σ of the examples' weights
  MetricValues clicks = kNoClicks;        // of a task by bce; the examples of any task
  double mse = kNoValue, mae = kNoValue;  // of a task by mse
  // The loss of a task by in_batch_softmax, and the share of examples whose candidate is among the
  // first k of their batch: candidates of equal scores, as one that comes twice has, come in any
  // order (RetrievalMeter).
  double softmax = kNoValue;
  std::array<double, 3> recall = {kNoValue, kNoValue, kNoValue};
  double loss(TaskLoss kind) const {
    return kind == TaskLoss::kBce ? clicks.log_loss : kind == TaskLoss::kMse ? mse : softmax;
  }
};
// The k of TaskValues::recall.
inline constexpr std::array<int64_t, 3> kRecallAt = {1, 10, 20};

struct NamedTaskValues {
  std::string task;
  TaskLoss loss = TaskLoss::kBce;
  TaskValues values;
};

// The values of a model's clicks, which are those of its first task, and of every task.
struct EvaluationValues : MetricValues {
  EvaluationValues(const MetricValues& first = kNoClicks) : MetricValues(first) {}  // NOLINT
  // Σ_t weight_t · that of task t, over the tasks whose examples weigh more than 0.
  double loss = kNoValue;
  std::vector<NamedTaskValues> tasks;
};

// Values of a model from those of its tasks. REQUIRES: as many values as tasks, at least one.
EvaluationValues EvaluationOf(const std::vector<TrainTask>& tasks,
                              const std::vector<TaskValues>& values);

// Adds up the examples of one task.
class TaskMeter {
 public:
  explicit TaskMeter(TaskLoss loss);

  // Examples that count, as metrics of clicks, or with any numbers.
  void Update(const ScoredExamples& examples);
  // Adds a batch of a task by in_batch_softmax: scores [B, B] of each example against each one's
  // candidate; undefined: the task has no values.
  void UpdateChoices(const Tensor& scores, const TaskExamples& counted);
  TaskValues Values() const;

 private:
  void AddWeights(const ScoredExamples& examples);

  TaskLoss loss_;
  ClickMetrics clicks_;
  FormulaPtr mse_, mae_;
  std::vector<double> mse_sums_, mae_sums_;
  int64_t examples_ = 0;
  bool lacks_scores_ = false;
  double softmax_sum_ = 0, weight_sum_ = 0;
  std::array<RetrievalMeter, 3> found_ = {
      RetrievalMeter(kRecallAt[0]), RetrievalMeter(kRecallAt[1]), RetrievalMeter(kRecallAt[2])};
};

// Adds up the batches of an evaluation.
class EvaluationMeter {
 public:
  explicit EvaluationMeter(const std::vector<TrainTask>& tasks);

  // Adds a batch in host memory and returns its examples by task. predictions: [B] or [B, tasks].
  // candidates: scores as TaskMeter::UpdateChoices takes them; where it is undefined, tasks by
  // in_batch_softmax have no values.
  std::vector<TaskExamples> Update(const Tensor& predictions, const Tensor& candidates,
                                   const Batch& batch);
  TaskValues ValuesOf(size_t task) const { return meters_[task].Values(); }
  EvaluationValues Values() const;

 private:
  std::vector<TrainTask> tasks_;
  std::vector<TaskMeter> meters_;
};

}  // namespace tessera
#endif  // TESSERA_TRAIN_TASK_METER_H_
