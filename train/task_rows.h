#ifndef TESSERA_TRAIN_TASK_ROWS_H_
#define TESSERA_TRAIN_TASK_ROWS_H_
// The tasks of a training, where their labels lie in a batch, and which rows of it count for each:
// those with a label, where the task's `where` is above 0.
#include <string>
#include <vector>

#include "data/data_source.h"
#include "data/rows/row_rules.h"
#include "metrics/state/scored_examples.h"
#include "runtime/ops/loss.h"
#include "runtime/tensor.h"
#include "train/config/train_config.h"

namespace tessera {

struct TrainTask {
  TaskConfig task;
  int64_t label = 0;                  // its column of Batch::labels; -1: none
  int64_t where = -1;                 // as `label`; -1: none
  std::string loss_name = task.name;  // in Trainer::losses
};

// Those of the model, or the one it has without tasks: the first label, by cross entropy. Throws
// Error for a label that the data do not have.
std::vector<TrainTask> TasksOf(const RankingNetConfig& model, const DataConfig& data);

// The columns of labels that batches of these data must have: 0 where no task has a label, or asks
// for one.
int64_t LabelsNeeded(const std::vector<TrainTask>& tasks, const DataConfig& data);

// Throws Error unless the batch has as many columns of labels as the data should have.
void CheckLabels(const Batch& batch, int64_t labels);

// Throws Error for a label outside 0 to 1 that counts for a task by bce. Labels on a GPU are not
// looked at.
void CheckClicks(const std::vector<TrainTask>& tasks, const Batch& batch);

// The rows of a batch that a task's loss is a mean over, where ctx works.
LossRows RowsOfTask(Context& ctx, const TrainTask& task, const Batch& batch);

// A list of the batch's rows, 1 for those that count, whatever they weigh, and 0 for others.
// `counted`: what RowsOfTask gives for the same batch.
Tensor CountsOfTask(Context& ctx, const TrainTask& task, const Batch& batch,
                    const LossRows& counted);

// Rows [begin, end) of those of tasks, with the totals of all.
std::vector<LossRows> PartsOf(const std::vector<LossRows>& rows, int64_t begin, int64_t end);

// The examples of a batch in host memory that count for a task, for metrics.
struct TaskExamples {
  std::vector<float> predictions, labels, weights;  // weights: none where the batch has none
  std::vector<int64_t> rows = {};                   // where they lie in the batch
  ScoredExamples view() const { return {predictions, labels, weights}; }
};
// Finds labels of rows of text that CheckClicks would refuse; null where there are none to refuse.
LabelCheck LabelCheckOf(std::vector<TrainTask> tasks, const DataConfig& data);
// predictions [B] or [B, tasks] of the batch. Throws Error as CheckClicks does.
TaskExamples ExamplesOfTask(const TrainTask& task, const Tensor& predictions, int64_t column,
                            const Batch& batch);

}  // namespace tessera
#endif  // TESSERA_TRAIN_TASK_ROWS_H_
