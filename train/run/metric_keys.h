#ifndef TESSERA_TRAIN_RUN_METRIC_KEYS_H_
#define TESSERA_TRAIN_RUN_METRIC_KEYS_H_
// The sessions and groups of a training's metrics: a number for each row that counts for a task.
//
// A session_name or grouping_keys names a tensor of a task (training_metrics.h), a feature, whose
// first id is the row's number, or a label of the data. Rows without the id or the label, and rows
// that do not count for the tensor's task, have no number: metrics by it leave them out.
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/data_source.h"
#include "metrics/rec_metric_module.h"
#include "runtime/context.h"
#include "train/config/train_config.h"

namespace tessera {

// The model's task whose tensor it is; nullopt: of none.
std::optional<size_t> TaskWith(const std::string& tensor, const std::vector<TaskConfig>& tasks);

// One tensor of numbers.
struct MetricKeys {
  std::string tensor;  // its name in the model's output
  size_t task = 0;     // whose rows it has
  std::string source;  // its name in the configuration
  bool cut = false;    // fractions are cut off; else they are an error
};

// Gives the keys that metrics ask for names of their own for each task, as tasks have other rows,
// and returns them. Names that make no sense stay.
std::vector<MetricKeys> TakeKeys(RecMetricsConfig& metrics, const TrainConfig& config);

// The numbers of all rows of a batch, for each of `keys`; none where it is a tensor of a task.
// Waits for a device. Throws Error as AddKeys does. REQUIRES: the batch lies where ctx works.
std::vector<std::vector<int64_t>> ReadColumns(Context& ctx, const Batch& batch,
                                              std::span<const MetricKeys> keys,
                                              const TrainConfig& config);

// Adds the keys to the tensors of tasks in `output`. rows: those of each task in the batch;
// columns: what ReadColumns gave. Throws Error for a number with a fraction that is not to be cut.
void AddKeys(std::span<const MetricKeys> keys, const std::vector<TaskConfig>& tasks,
             std::span<const std::vector<int64_t>> rows,
             std::span<const std::vector<int64_t>> columns, ModelOutput& output);

}  // namespace tessera
#endif  // TESSERA_TRAIN_RUN_METRIC_KEYS_H_
