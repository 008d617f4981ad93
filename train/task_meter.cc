#include "train/task_meter.h"

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

TaskMeter::TaskMeter(TaskLoss loss)
    : loss_(loss),
      mse_(MakeMse({})),
      mae_(MakeMae({})),
      mse_sums_(static_cast<size_t>(mse_->num_sums())),
      mae_sums_(static_cast<size_t>(mae_->num_sums())) {}

void TaskMeter::Update(const ScoredExamples& examples) {
  if (loss_ == TaskLoss::kBce) return clicks_.Update(examples);
  examples_ += static_cast<int64_t>(examples.size());
  Add(*mse_, examples, mse_sums_);
  Add(*mae_, examples, mae_sums_);
}

TaskValues TaskMeter::Values() const {
  if (loss_ == TaskLoss::kBce) return {.clicks = clicks_.Lifetime()};
  TaskValues values;
  values.clicks.examples = examples_;
  if (examples_ == 0) return values;
  values.mse = First(*mse_, mse_sums_);
  values.mae = First(*mae_, mae_sums_);
  return values;
}

}  // namespace tessera
