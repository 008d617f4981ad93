#include "cli/plan/plan_validate.h"

#include <algorithm>

#include "cli/show/measure_progress.h"
#include "cli/show/numbers.h"
#include "comm/local_communicator.h"
#include "runtime/base/check.h"
#include "runtime/context.h"
#include "train/ranks_plan.h"

namespace tessera::cli {
namespace {

constexpr int kMaxRanks = 64;

std::vector<std::string> TablesOnDisk(const ShardingPlan& plan) {
  std::vector<std::string> names;
  for (const auto& [name, sharding] : plan.tables)
    if (sharding.kernel == ComputeKernel::kKeyValue) names.push_back(name);
  return names;
}

// This plan, and those that tessera train knows by name, with the same tables on disk; column_wise
// only if the ranks divide all columns, data_parallel only without a disk.
std::vector<NamedPlan> Candidates(const StepModel& model, const ShardingPlan& plan) {
  const std::vector<TableShape> shapes = ShapesOf(model.load());
  const bool divides = std::all_of(shapes.begin(), shapes.end(), [&](const TableShape& t) {
    return t.dim % model.layout().world_size == 0;
  });
  const std::vector<std::string> on_disk = TablesOnDisk(plan);
  std::vector<NamedPlan> plans = {{"this plan", plan}};
  const auto add = [&](const std::string& name, const std::string& word) {
    plans.push_back({name, MakeRanksPlan(word, model.layout(), shapes)});
    for (const std::string& table : on_disk)
      plans.back().plan.tables.at(table).kernel = ComputeKernel::kKeyValue;
  };
  for (const char* word : {"table_wise", "row_wise"}) add(word, word);
  if (on_disk.empty()) add("data_parallel", "data_parallel");
  if (divides) add("column_wise", "column_wise");
  add("large tables by rows", "");
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

}  // namespace

std::vector<ValidatedPlan> ValidatePlan(const StepModel& model, const ShardingPlan& plan,
                                        int count) {
  const int ranks = model.layout().world_size;
  TESSERA_CHECK(ranks <= kMaxRanks, "--validate runs at most {} ranks, which are threads; got {}",
                kMaxRanks, ranks);
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
  return validated;
}

std::string ValidationText(const std::vector<ValidatedPlan>& plans) {
  std::vector<std::vector<std::string>> rows = {
      {"plan", "predicted, ms", "simulated, ms", "measured, ms"}};
  for (const ValidatedPlan& p : plans)
    rows.push_back({p.name, Fixed(1e3 * p.predicted.seconds, 3), Fixed(1e3 * p.simulated, 3),
                    Fixed(1e3 * p.measured.seconds, 3)});
  const Agreement agreement = ComputeAgreement(plans);
  return TextTable(rows) + Format("\nSpearman correlation {}, median error {} %\n",
                                  Fixed(agreement.spearman, 2),
                                  Fixed(100 * agreement.median_error, 1));
}

}  // namespace tessera::cli
