#include "train/task_meter.h"

#include <algorithm>
#include <cmath>

#include "runtime/numbers/math.h"

namespace tessera {
namespace {

void Add(SumFormula& formula, const ScoredExamples& examples, std::vector<double>& sums) {
  std::vector<double> more(sums.size());
  formula.AddUp({.examples = examples}, more);
  formula.Merge(sums, more);
}

double First(const SumFormula& formula, const std::vector<double>& sums) {
  return formula.Values(sums).front().value;
}

}  // namespace

EvaluationValues EvaluationOf(const std::vector<TrainTask>& tasks,
                              const std::vector<TaskValues>& values) {
  EvaluationValues all(values.front().clicks);
  for (size_t t = 0; t < tasks.size(); ++t) {
    const TaskConfig& task = tasks[t].task;
    all.tasks.push_back({task.name, task.loss, values[t]});
    if (values[t].weight == 0) continue;
    if (std::isnan(all.loss)) all.loss = 0;
    all.loss += static_cast<double>(task.weight) * values[t].loss(task.loss);
  }
  return all;
}

TaskMeter::TaskMeter(TaskLoss loss)
    : loss_(loss),
      mse_(MakeMse({})),
      mae_(MakeMae({})),
      mse_sums_(static_cast<size_t>(mse_->num_sums())),
      mae_sums_(static_cast<size_t>(mae_->num_sums())) {}

void TaskMeter::AddWeights(const ScoredExamples& examples) {
  examples.ForEach([this](double, double, double weight) { weight_sum_ += weight; });
}

void TaskMeter::Update(const ScoredExamples& examples) {
  AddWeights(examples);
  if (loss_ == TaskLoss::kBce) return clicks_.Update(examples);
  examples_ += static_cast<int64_t>(examples.size());
  Add(*mse_, examples, mse_sums_);
  Add(*mae_, examples, mae_sums_);
}

void TaskMeter::UpdateChoices(const Tensor& scores, const TaskExamples& counted) {
  AddWeights(counted.view());
  lacks_scores_ = !scores;
  if (lacks_scores_) return;
  const int64_t candidates = scores.dim(1);
  examples_ += std::ssize(counted.rows);
  for (size_t n = 0; n < counted.rows.size(); ++n) {
    const float* const row = scores.data<float>() + counted.rows[n] * candidates;
    const float own = row[counted.rows[n]], largest = *std::max_element(row, row + candidates);
    const double weight = counted.weights.empty() ? 1.0 : counted.weights[n];
    double sum = 0;
    for (int64_t c = 0; c < candidates; ++c) sum += Exp(static_cast<double>(row[c]) - largest);
    softmax_sum_ += weight * (largest + Log(sum) - own);
    for (RetrievalMeter& found : found_)
      found.Add({row, static_cast<size_t>(candidates)}, counted.rows[n], {}, weight);
  }
}

TaskValues TaskMeter::Values() const {
  TaskValues values;
  values.weight = weight_sum_;
  values.clicks.examples = examples_;
  if (loss_ == TaskLoss::kBce) values.clicks = clicks_.Lifetime();
  if (loss_ == TaskLoss::kBce || weight_sum_ == 0 || lacks_scores_) return values;
  if (loss_ == TaskLoss::kInBatchSoftmax) {
    values.softmax = softmax_sum_ / weight_sum_;
    for (size_t k = 0; k < found_.size(); ++k) values.recall[k] = found_[k].Values().recall;
    return values;
  }
  values.mse = First(*mse_, mse_sums_);
  values.mae = First(*mae_, mae_sums_);
  return values;
}

EvaluationMeter::EvaluationMeter(const std::vector<TrainTask>& tasks) : tasks_(tasks) {
  for (const TrainTask& task : tasks) meters_.emplace_back(task.task.loss);
}

std::vector<TaskExamples> EvaluationMeter::Update(const Tensor& predictions,
                                                  const Tensor& candidates, const Batch& batch) {
  std::vector<TaskExamples> examples;
  for (size_t t = 0; t < tasks_.size(); ++t) {
    examples.push_back(ExamplesOfTask(tasks_[t], predictions, static_cast<int64_t>(t), batch));
    if (tasks_[t].task.loss != TaskLoss::kInBatchSoftmax)
      meters_[t].Update(examples[t].view());
    else
      meters_[t].UpdateChoices(candidates, examples[t]);
  }
  return examples;
}

EvaluationValues EvaluationMeter::Values() const {
  std::vector<TaskValues> values;
  for (const TaskMeter& meter : meters_) values.push_back(meter.Values());
  return EvaluationOf(tasks_, values);
}

}  // namespace tessera
