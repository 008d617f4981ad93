#include "train/task_rows.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "runtime/base/joined.h"

namespace tessera {
namespace {

int64_t ColumnOf(const std::vector<std::string>& labels, const std::string& name,
                 const std::string& where) {
  const auto found = std::ranges::find(labels, name);
  if (found != labels.end()) return found - labels.begin();
  const std::string there = internal::Joined(labels);
  throw Error(Format("model.tasks: task '{}': the data have no label '{}'; there are {}", where,
                     name, there.empty() ? "none" : there));
}

// A column of labels: [B], or [B, 1] of several.
Tensor Column(const Batch& batch, int64_t column) {
  if (batch.labels.rank() == 1) return batch.labels;
  return batch.labels.Narrow(1, column, 1);
}

// A column of a matrix in host memory, or of a list; a column below 0 has no numbers.
struct HostColumn {
  HostColumn(const Tensor& tensor, int64_t column) {
    if (column < 0) return;
    data = tensor.data<float>() + (tensor.rank() == 1 ? 0 : column);
    stride = tensor.rank() == 1 ? 1 : tensor.dim(1);
  }
  const float* at(int64_t row) const { return data == nullptr ? nullptr : data + row * stride; }
  const float* data = nullptr;
  int64_t stride = 0;
};

bool IsClick(float label) { return label >= 0 && label <= 1; }

constexpr char kOtherwise[] =
    "\"at_least\" of the label makes 0 and 1 of a number, \"loss\": \"mse\" of the task learns the "
    "number";

// A label that counts for the task.
void CheckClick(const TrainTask& task, float label) {
  if (task.task.loss != TaskLoss::kBce || IsClick(label)) return;
  throw Error(
      Format("model.tasks: task '{}' learns by bce, so its labels are 0 to 1, but a row has {}: {}",
             task.task.name, label, kOtherwise));
}

}  // namespace

std::vector<TrainTask> TasksOf(const RankingNetConfig& model, const DataConfig& data) {
  const std::vector<std::string> labels = LabelNames(data);
  std::vector<TrainTask> tasks;
  for (const TaskConfig& task : model.tasks)
    tasks.push_back({task, task.label.empty() ? -1 : ColumnOf(labels, task.label, task.name),
                     task.where.empty() ? -1 : ColumnOf(labels, task.where, task.name)});
  if (!tasks.empty()) return tasks;
  if (labels.empty())
    throw Error("data.labels: a model without tasks learns the first label, but there is none");
  tasks.push_back({{.name = DefaultTaskName(data), .label = labels.front()}});
  tasks.front().loss_name = "cross_entropy";
  return tasks;
}

int64_t LabelsNeeded(const std::vector<TrainTask>& tasks, const DataConfig& data) {
  const bool any = std::ranges::any_of(
      tasks, [](const TrainTask& task) { return task.label >= 0 || task.where >= 0; });
  return any ? std::ssize(LabelNames(data)) : 0;
}

void CheckLabels(const Batch& batch, int64_t labels) {
  if (labels == 0) return;
  TESSERA_CHECK(batch.labels.defined(), "a batch without labels; expected {}", labels);
  const int64_t there = batch.labels.rank() == 1 ? 1 : batch.labels.dim(1);
  TESSERA_CHECK(batch.labels.rank() <= 2 && there == labels,
                "labels of shape {}; expected a column for each of {}", batch.labels.shape(),
                labels);
}

void CheckClicks(const std::vector<TrainTask>& tasks, const Batch& batch) {
  if (!batch.labels || batch.labels.device() != Device::Cpu()) return;
  for (const TrainTask& task : tasks) {
    if (task.task.loss != TaskLoss::kBce || task.label < 0) continue;
    const HostColumn labels(batch.labels, task.label), where(batch.labels, task.where);
    for (int64_t i = 0; i < batch.size(); ++i)
      if (RowCounts(labels.at(i), where.at(i))) CheckClick(task, *labels.at(i));
  }
}

LabelCheck LabelCheckOf(std::vector<TrainTask> tasks, const DataConfig& data) {
  if (data.schema == nullptr || LabelNames(data).empty()) return nullptr;
  std::erase_if(tasks, [](const TrainTask& task) {
    return task.task.loss != TaskLoss::kBce || task.label < 0;
  });
  if (tasks.empty()) return nullptr;
  return [tasks = std::move(tasks)](const float* labels) -> std::optional<BadLabel> {
    for (const TrainTask& task : tasks) {
      const float* const label = labels + task.label;
      const float* const where = task.where < 0 ? nullptr : labels + task.where;
      if (RowCounts(label, where) && !IsClick(*label))
        return BadLabel{static_cast<size_t>(task.label),
                        Format("expected a label from 0 to 1, as task '{}' learns by bce ({})",
                               task.task.name, kOtherwise)};
    }
    return std::nullopt;
  };
}

LossRows RowsOfTask(Context& ctx, const TrainTask& task, const Batch& batch) {
  return RowsThatCount(ctx, batch.size(), task.label < 0 ? Tensor() : Column(batch, task.label),
                       batch.weights, task.where < 0 ? Tensor() : Column(batch, task.where));
}

Tensor CountsOfTask(Context& ctx, const TrainTask& task, const Batch& batch,
                    const LossRows& counted) {
  if (!batch.weights) return counted.weights;
  Batch unweighted;
  unweighted.dense = batch.dense;
  unweighted.labels = batch.labels;
  return RowsOfTask(ctx, task, unweighted).weights;
}

std::vector<LossRows> PartsOf(const std::vector<LossRows>& rows, int64_t begin, int64_t end) {
  std::vector<LossRows> parts;
  for (const LossRows& all : rows)
    parts.push_back({all.labels.Rows(begin, end), all.weights.Rows(begin, end), all.total});
  return parts;
}

TaskExamples ExamplesOfTask(const TrainTask& task, const Tensor& predictions, int64_t column,
                            const Batch& batch) {
  const HostColumn scores(predictions, column), labels(batch.labels, task.label),
      where(batch.labels, task.where);
  TaskExamples examples;
  for (int64_t i = 0; i < batch.size(); ++i) {
    if (!RowCounts(labels.at(i), where.at(i))) continue;
    if (labels.data != nullptr) CheckClick(task, *labels.at(i));
    examples.rows.push_back(i);
    examples.predictions.push_back(*scores.at(i));
    examples.labels.push_back(labels.data == nullptr ? 0.0f : *labels.at(i));
    if (batch.weights) examples.weights.push_back(batch.weights.data<float>()[i]);
  }
  return examples;
}

}  // namespace tessera
