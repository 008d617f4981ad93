#include "cli/plan/plan_validate.h"

#include <algorithm>
#include <map>
#include <string>

#include "cli/gpu_ranks.h"
#include "cli/show/measure_progress.h"
#include "cli/show/numbers.h"
#include "comm/local_communicator.h"
#include "runtime/base/check.h"
#include "runtime/context.h"
#include "runtime/device/device_properties.h"
#include "sharding/kernel_location.h"
#include "train/ranks_plan.h"

namespace tessera::cli {
namespace {

constexpr int kMaxRanks = 64;

// The kernels of tables in host memory beside a GPU, and on disk.
std::map<std::string, ComputeKernel> KernelsElsewhere(const ShardingPlan& plan) {
  std::map<std::string, ComputeKernel> kernels;
  for (const auto& [name, sharding] : plan.tables)
    if (LocationUnder(sharding.kernel, EmbeddingLocation::kDevice) != EmbeddingLocation::kDevice)
      kernels[name] = sharding.kernel;
  return kernels;
}

// This plan, and those that tessera train knows by name, with the same tables elsewhere, each once;
// column_wise only if the ranks divide all columns, data_parallel only where no table is elsewhere.
std::vector<NamedPlan> Candidates(const StepModel& model, const ShardingPlan& plan) {
  const std::vector<TableShape> shapes = ShapesOf(model.load());
  const bool divides = std::all_of(shapes.begin(), shapes.end(), [&](const TableShape& t) {
    return t.dim % model.layout().world_size == 0;
  });
  const std::map<std::string, ComputeKernel> elsewhere = KernelsElsewhere(plan);
  std::vector<NamedPlan> plans = {{"this plan", plan}};
  const auto add = [&](const std::string& name, const std::string& word) {
    plans.push_back({name, MakeRanksPlan(word, model.layout(), shapes)});
    for (const auto& [table, kernel] : elsewhere)
      plans.back().plan.tables.at(table).kernel = kernel;
    const ShardingPlan& added = plans.back().plan;
    if (std::any_of(plans.begin(), plans.end() - 1,
                    [&](const NamedPlan& p) { return p.plan == added; }))
      plans.pop_back();
  };
  for (const char* word : {"table_wise", "row_wise"}) add(word, word);
  if (elsewhere.empty()) add("data_parallel", "data_parallel");
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

// Ranks are threads here, with the devices and the exchanges that were measured.
void CheckMachine(const MachineProfile& profile) {
  if (profile.backend == "mpi")
    throw Error(
        "--validate beside this topology, which was measured with processes (mpirun): it runs "
        "ranks as threads, whose exchanges differ; measure with tessera calibrate --ranks N");
  if (profile.device == "cuda" && CudaDeviceCount() == 0)
    throw Error(
        "--validate beside this topology, which was measured on a GPU: it runs steps there, and "
        "this machine has none");
}

}  // namespace

std::vector<ValidatedPlan> ValidatePlan(const StepModel& model, const ShardingPlan& plan,
                                        int count) {
  const int ranks = model.layout().world_size;
  TESSERA_CHECK(ranks <= kMaxRanks, "--validate runs at most {} ranks, which are threads; got {}",
                kMaxRanks, ranks);
  const MachineProfile& profile = model.profile();
  CheckMachine(profile);
  const std::string carrier = profile.backend == "nccl" ? "nccl" : "host";
  PrepareGpuRanks(profile.device, carrier);
  const std::vector<NamedPlan> plans = Fastest(model, Candidates(model, plan), count);
  MeasureProgress progress;
  std::vector<ValidatedPlan> validated;
  RunLocalRanks(ranks, [&](Communicator& comm) {
    Context ctx({.device = DeviceOfRank(profile.device, comm), .threads = profile.threads});
    const GpuRanks gpus = ConnectRanks(carrier, profile.device, ctx, comm);
    ValidateOptions options;
    options.progress = [&](const std::string& name, double done) { progress.Show(name, done); };
    const std::vector<ValidatedPlan> mine =
        ValidatePlans(ctx, gpus.nccl ? *gpus.nccl : comm, model, plans, options);
    if (comm.rank() == 0) validated = mine;
  });
  return validated;
}

bool PredictionsDiffer(const std::vector<ValidatedPlan>& plans) {
  return std::any_of(plans.begin(), plans.end(), [&](const ValidatedPlan& p) {
    return p.predicted.seconds != plans[0].predicted.seconds;
  });
}

std::string ValidationText(const std::vector<ValidatedPlan>& plans) {
  std::vector<std::vector<std::string>> rows = {
      {"plan", "predicted, ms", "simulated, ms", "measured, ms"}};
  for (const ValidatedPlan& p : plans)
    rows.push_back({p.name, Fixed(1e3 * p.predicted.seconds, 3), Fixed(1e3 * p.simulated, 3),
                    Fixed(1e3 * p.measured.seconds, 3)});
  const Agreement agreement = ComputeAgreement(plans);
  const std::string error = Fixed(100 * agreement.median_error, 1);
  if (!PredictionsDiffer(plans)) return TextTable(rows) + Format("\nMedian error {} %\n", error);
  return TextTable(rows) + Format("\nSpearman correlation {}, median error {} %\n",
                                  Fixed(agreement.spearman, 2), error);
}

}  // namespace tessera::cli
