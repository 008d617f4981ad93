#include "train/grouped_meter.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "data/first_ids.h"
#include "metrics/state/sessions.h"
#include "runtime/base/check.h"
#include "runtime/base/joined.h"
#include "runtime/tensor.h"
#include "sparse/keyed_jagged_tensor.h"

namespace tessera {
namespace {

// Hands batches on, and each to `see` before.
class SeenSource final : public DataSource {
 public:
  SeenSource(std::unique_ptr<DataSource> source, std::function<void(const Batch&)> see)
      : source_(std::move(source)), see_(std::move(see)) {}
  std::optional<Batch> Next() override {
    std::optional<Batch> batch = source_->Next();
    if (batch) see_(*batch);
    return batch;
  }
  int64_t skipped_rows() const override { return source_->skipped_rows(); }
  BadLineCounts skipped_by_reason() const override { return source_->skipped_by_reason(); }

 private:
  std::unique_ptr<DataSource> source_;
  std::function<void(const Batch&)> see_;
};

// The examples at `members`.
struct Picked {
  Picked(const ScoredExamples& of, std::span<const int32_t> members) {
    for (const int32_t member : members) {
      const auto i = static_cast<size_t>(member);
      predictions.push_back(of.predictions[i]);
      labels.push_back(of.labels[i]);
      weights.push_back(of.weight(i));
    }
  }
  ScoredExamples view() const { return {predictions, labels, weights}; }
  std::vector<float> predictions, labels, weights;
};

}  // namespace

GroupedMeter::GroupedMeter(const std::vector<TrainTask>& tasks, std::string feature)
    : tasks_(tasks), feature_(std::move(feature)), ctx_({.threads = 1}), kept_(tasks.size()) {}

std::unique_ptr<DataSource> GroupedMeter::Over(std::unique_ptr<DataSource> source) {
  return std::make_unique<SeenSource>(
      std::move(source), [this](const Batch& batch) { batches_.push(GroupsOf(batch)); });
}

std::vector<int64_t> GroupedMeter::GroupsOf(const Batch& batch) {
  const std::vector<std::string>& keys = batch.features.keys();
  if (std::ranges::count(keys, feature_) == 0) {
    const std::string there = internal::Joined(keys);
    throw Error(
        Format("the model reads no feature '{}' to group rows by; there are {}", feature_, there));
  }
  return FirstIds(ctx_, batch, feature_);
}

void GroupedMeter::Add(std::span<const TaskExamples> tasks) {
  TESSERA_CHECK(!batches_.empty() && tasks.size() == kept_.size(),
                "examples of {} tasks of a batch that did not come by Over", tasks.size());
  const std::vector<int64_t> of_rows = std::move(batches_.front());
  batches_.pop();
  for (size_t t = 0; t < tasks.size(); ++t) {
    if (tasks_[t].task.loss == TaskLoss::kInBatchSoftmax) continue;
    std::vector<int64_t> groups;
    for (const int64_t row : tasks[t].rows) groups.push_back(of_rows[static_cast<size_t>(row)]);
    kept_[t].Append(tasks[t].view(), groups);
    TESSERA_CHECK(kept_[t].size() <= std::numeric_limits<int32_t>::max(),
                  "rows in groups: expected at most {}", std::numeric_limits<int32_t>::max());
  }
}

std::vector<GroupValues> GroupedMeter::Groups() const {
  std::map<int64_t, std::vector<TaskValues>> values;
  for (size_t t = 0; t < kept_.size(); ++t) {
    const std::span<const int64_t> groups = kept_[t].groups();
    ForEachSession(groups, [&](std::span<const int32_t> members) {
      TaskMeter meter(tasks_[t].task.loss);
      meter.Update(Picked(kept_[t].view(), members).view());
      std::vector<TaskValues>& of_group = values[groups[static_cast<size_t>(members.front())]];
      of_group.resize(tasks_.size());
      of_group[t] = meter.Values();
    });
  }
  std::vector<GroupValues> all;
  for (const auto& [id, of_group] : values)
    all.push_back({id, id != kNoId, EvaluationOf(tasks_, of_group)});
  const auto examples = [](const GroupValues& group) {
    int64_t most = 0;
    for (const NamedTaskValues& task : group.values.tasks)
      most = std::max(most, task.values.clicks.examples);
    return most;
  };
  std::ranges::stable_sort(all, std::greater(), examples);
  return all;
}

double GroupedAuc(std::span<const GroupValues> groups, size_t task) {
  double sum = 0, examples = 0;
  for (const GroupValues& group : groups) {
    const MetricValues& clicks = group.values.tasks[task].values.clicks;
    if (std::isnan(clicks.auc)) continue;
    sum += clicks.auc * static_cast<double>(clicks.examples);
    examples += static_cast<double>(clicks.examples);
  }
  return examples > 0 ? sum / examples : kNoValue;
}

}  // namespace tessera
