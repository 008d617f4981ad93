#include "train/run/metric_keys.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "data/first_ids.h"
#include "metrics/metric_registry.h"
#include "metrics/state/metric_state.h"
#include "runtime/base/check.h"
#include "runtime/tensor.h"

namespace tessera {
namespace {

static_assert(kNoId == kNoKey);

bool NeedsGroups(const RecMetricDef& def) {
  return def.options.grouped || FindMetricKind(def.name).needs == MetricNeeds::kGroupingKeys;
}

bool NeedsSession(const RecMetricsConfig& metrics, const std::string& task) {
  return std::ranges::any_of(metrics.metrics, [&](const RecMetricDef& def) {
    const bool is_of_task = def.tasks.empty() || std::ranges::count(def.tasks, task) > 0;
    return is_of_task && FindMetricKind(def.name).needs == MetricNeeds::kSessions;
  });
}

// Names of keys, each once.
class KeyTaker {
 public:
  explicit KeyTaker(const TrainConfig& config) : config_(config) {}

  // Returns the name of the tensor that a task of metrics has of this key.
  std::string Take(const std::string& source, const RecTask& task, bool cut) {
    const std::optional<size_t> model_task = TaskWith(task.label_name, config_.model.tasks);
    if (!model_task || source.empty()) return source;
    const std::string tensor =
        Format("{} of rows of task {}{}", source, *model_task, cut ? ", cut" : "");
    const bool is_new = std::ranges::count(keys_, tensor, &MetricKeys::tensor) == 0;
    if (is_new) keys_.push_back({tensor, *model_task, source, cut});
    return tensor;
  }
  std::vector<MetricKeys> keys() && { return std::move(keys_); }

 private:
  const TrainConfig& config_;
  std::vector<MetricKeys> keys_;
};

// A label or another number as a key; kNoKey for NaN.
int64_t KeyOf(float number, const MetricKeys& key) {
  if (std::isnan(number)) return kNoKey;
  const bool fits = std::abs(number) < 0x1p62f && (key.cut || std::trunc(number) == number);
  if (!fits)
    throw Error(
        Format("metrics: '{}', which tells sessions or groups apart, is {} in a row; "
               "expected a whole number",
               key.source, number));
  return static_cast<int64_t>(number);
}

std::vector<int64_t> LabelColumn(const Batch& batch, int64_t column, const MetricKeys& key) {
  const std::vector<float> all = batch.labels.ToVector<float>();
  const int64_t width = batch.labels.rank() == 1 ? 1 : batch.labels.dim(1);
  std::vector<int64_t> numbers;
  for (int64_t row = 0; row < batch.size(); ++row)
    numbers.push_back(KeyOf(all[static_cast<size_t>(row * width + column)], key));
  return numbers;
}

std::vector<int64_t> ReadColumn(Context& ctx, const Batch& batch, const MetricKeys& key,
                                const TrainConfig& config) {
  if (TaskWith(key.source, config.model.tasks)) return {};
  if (std::ranges::count(batch.features.keys(), key.source) > 0)
    return FirstIds(ctx, batch, key.source);
  const std::vector<std::string> labels = LabelNames(config.data);
  const auto label = std::ranges::find(labels, key.source);
  TESSERA_CHECK(label != labels.end() && batch.labels, "metrics: a batch without '{}'", key.source);
  return LabelColumn(batch, label - labels.begin(), key);
}

// The numbers of rows up to the last of `rows`, which ascend.
std::vector<int64_t> Scattered(std::span<const float> numbers, std::span<const int64_t> rows,
                               const MetricKeys& key) {
  std::vector<int64_t> all(rows.empty() ? 0 : static_cast<size_t>(rows.back()) + 1, kNoKey);
  for (size_t i = 0; i < rows.size(); ++i)
    all[static_cast<size_t>(rows[i])] = KeyOf(numbers[i], key);
  return all;
}

// The tasks that a metric is computed for; none where it names one that there is not.
std::vector<RecTask> TasksOf(const RecMetricDef& def, const std::vector<RecTask>& tasks) {
  if (def.tasks.empty()) return tasks;
  std::vector<RecTask> named;
  for (const std::string& name : def.tasks) {
    const auto found = std::ranges::find(tasks, name, &RecTask::name);
    if (found == tasks.end()) return {};
    named.push_back(*found);
  }
  return named;
}

}  // namespace

std::optional<size_t> TaskWith(const std::string& tensor, const std::vector<TaskConfig>& tasks) {
  const auto is_in = [&](const RecTask& task) {
    return tensor == task.prediction_name || tensor == task.label_name ||
           tensor == task.weight_name;
  };
  if (is_in({.weight_name = "weight"})) return 0;
  for (size_t t = 0; t < tasks.size(); ++t)
    if (is_in(RecTaskOf(tasks[t].name))) return t;
  return {};
}

std::vector<MetricKeys> TakeKeys(RecMetricsConfig& metrics, const TrainConfig& config) {
  KeyTaker taker(config);
  std::vector<RecMetricDef> defs;
  for (const RecMetricDef& def : metrics.metrics) {
    const std::vector<RecTask> tasks = TasksOf(def, metrics.tasks);
    if (!NeedsGroups(def) || tasks.empty()) {
      defs.push_back(def);
      continue;
    }
    for (const RecTask& task : tasks) {
      RecMetricDef of_task = def;
      of_task.tasks = {task.name};
      of_task.options.grouping_keys =
          taker.Take(def.options.grouping_keys, task, def.options.cast_keys_to_int);
      defs.push_back(std::move(of_task));
    }
  }
  for (RecTask& task : metrics.tasks)
    if (NeedsSession(metrics, task.name))
      task.session_name = taker.Take(task.session_name, task, /*cut=*/false);
  metrics.metrics = std::move(defs);
  return std::move(taker).keys();
}

std::vector<std::vector<int64_t>> ReadColumns(Context& ctx, const Batch& batch,
                                              std::span<const MetricKeys> keys,
                                              const TrainConfig& config) {
  std::vector<std::vector<int64_t>> columns;
  for (size_t k = 0; k < keys.size(); ++k) {
    const auto same = std::ranges::find_if(keys.first(k), [&](const MetricKeys& other) {
      return other.source == keys[k].source && other.cut == keys[k].cut;
    });
    columns.push_back(same == keys.begin() + static_cast<int64_t>(k)
                          ? ReadColumn(ctx, batch, keys[k], config)
                          : columns[static_cast<size_t>(same - keys.begin())]);
  }
  return columns;
}

void AddKeys(std::span<const MetricKeys> keys, const std::vector<TaskConfig>& tasks,
             std::span<const std::vector<int64_t>> rows,
             std::span<const std::vector<int64_t>> columns, ModelOutput& output) {
  for (size_t k = 0; k < keys.size(); ++k) {
    std::vector<int64_t> all = columns[k];
    if (const std::optional<size_t> task = TaskWith(keys[k].source, tasks))
      all = Scattered(output.at(keys[k].source).span<float>(), rows[*task], keys[k]);
    std::vector<int64_t> picked;
    for (const int64_t row : rows[keys[k].task])
      picked.push_back(row < std::ssize(all) ? all[static_cast<size_t>(row)] : kNoKey);
    output.insert({keys[k].tensor, HostTensor(picked)});
  }
}

}  // namespace tessera
