#ifndef TESSERA_TRAIN_GROUPED_METER_H_
#define TESSERA_TRAIN_GROUPED_METER_H_
// Metrics of groups of rows: rows whose first id of one feature is the same, as the model reads the
// ids, make a group, and rows without an id make one. Keeps 20 bytes an example and task.
#include <cstdint>
#include <memory>
#include <queue>
#include <span>
#include <string>
#include <vector>

#include "data/data_source.h"
#include "metrics/state/kept_examples.h"
#include "runtime/context.h"
#include "train/task_meter.h"
#include "train/task_rows.h"

namespace tessera {

struct GroupValues {
  int64_t id = 0;
  bool has_id = true;  // false: the rows without an id
  EvaluationValues values;
};

class GroupedMeter {
 public:
  GroupedMeter(const std::vector<TrainTask>& tasks, std::string feature);

  const std::string& feature() const { return feature_; }
  // `source`, of whose batches the groups are remembered until Add takes their examples. Batches
  // lie in host memory. This outlives the result. Throws Error, from Next, for data without the
  // feature.
  std::unique_ptr<DataSource> Over(std::unique_ptr<DataSource> source);
  // Adds the examples of the next batch, a run for each task; tasks by in_batch_softmax, which
  // choose among the rows of a batch, have no values of groups.
  void Add(std::span<const TaskExamples> tasks);

  // Every group, by falling number of examples, of equal ones by rising id.
  std::vector<GroupValues> Groups() const;

 private:
  std::vector<int64_t> GroupsOf(const Batch& batch);

  std::vector<TrainTask> tasks_;
  std::string feature_;
  Context ctx_;
  std::queue<std::vector<int64_t>> batches_;  // groups of rows
  std::vector<KeptExamples> kept_;            // of each task
};

// The mean AUC of a task's groups, each weighed by its examples; groups that have clicks alone, or
// none, are left out. NaN where all are.
double GroupedAuc(std::span<const GroupValues> groups, size_t task);

}  // namespace tessera
#endif  // TESSERA_TRAIN_GROUPED_METER_H_
