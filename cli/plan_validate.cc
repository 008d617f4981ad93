#include "cli/plan_validate.h"

#include <algorithm>

#include "cli/measure_progress.h"
#include "cli/numbers.h"
#include "comm/local_communicator.h"
#include "planner/calibration/validate_plans.h"
#include "runtime/check.h"
#include "train/ranks_plan.h"

namespace tessera::cli {
namespace {

constexpr int kMostRanks = 64;

// By one of tessera train's words; nothing where the ranks do not divide the columns.
void AddByWord(const StepModel& model, const char* word, std::vector<NamedPlan>& plans) {
  std::vector<TableShape> shapes;
  for (const StepTable& t : model.load().tables) shapes.push_back({t.name, t.rows, t.dim});
  try {
    plans.push_back({*word == '\0' ? "large tables by rows" : word,
                     MakeRanksPlan(word, model.layout(), shapes)});
  } catch (const Error&) {
  }
}

std::vector<NamedPlan> Candidates(const StepModel& model, const ShardingPlan& plan) {
  std::vector<NamedPlan> plans = {{"this plan", plan}};
  for (const char* word : {"table_wise", "row_wise", "column_wise", "data_parallel", ""})
    AddByWord(model, word, plans);
  return plans;
}

// This plan, and the best of the others.
std::vector<NamedPlan> Fastest(const StepModel& model, std::vector<NamedPlan> plans, int count) {
  std::stable_sort(plans.begin() + 1, plans.end(), [&](const NamedPlan& a, const NamedPlan& b) {
    return model.Predict(a.plan).seconds < model.Predict(b.plan).seconds;
  });
  plans.resize(std::min(plans.size(), static_cast<size_t>(count)));
  return plans;
}

std::string Report(const std::vector<ValidatedPlan>& plans) {
  std::vector<std::vector<std::string>> rows = {{"plan", "predicted, ms", "measured, ms"}};
  for (const ValidatedPlan& p : plans)
    rows.push_back(
        {p.name, Fixed(1e3 * p.predicted.seconds, 3), Fixed(1e3 * p.measured.seconds, 3)});
  const Agreement agreement = AgreementOf(plans);
  return TextTable(rows) + Format("\nSpearman correlation {}, median error {} %\n",
                                  Fixed(agreement.spearman, 2),
                                  Fixed(100 * agreement.median_error, 1));
}

}  // namespace

std::string ValidatePlan(const StepModel& model, const ShardingPlan& plan, int count) {
  const int ranks = model.layout().world_size;
  TESSERA_CHECK(ranks <= kMostRanks, "--validate runs at most {} ranks, which are threads; got {}",
                kMostRanks, ranks);
  const std::vector<NamedPlan> plans = Fastest(model, Candidates(model, plan), count);
  MeasureProgress progress;
  std::vector<ValidatedPlan> validated;
  RunLocalRanks(ranks, [&](Communicator& comm) {
    Context ctx({.threads = model.profile().threads});
    ValidateOptions options;
    options.progress = [&](const std::string& name, double done) { progress.Show(name, done); };
    const std::vector<ValidatedPlan> mine = ValidatePlans(ctx, comm, model, plans, options);
    if (comm.rank() == 0) validated = mine;
  });
  return Report(validated);
}

}  // namespace tessera::cli
