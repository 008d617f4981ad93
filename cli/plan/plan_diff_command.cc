#include "cli/plan/plan_diff_command.h"

#include <algorithm>
#include <cstdio>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/outputs.h"
#include "cli/plan/plan_diff_report.h"
#include "cli/plan/plan_inputs.h"
#include "planner/cost_models.h"
#include "planner/model/planner_error.h"
#include "runtime/base/check.h"
#include "runtime/base/natural_order.h"
#include "runtime/files/files.h"
#include "sharding/plan/plan_json.h"

namespace tessera::cli {
namespace {

constexpr char kPlanDiffFooter[] =
    "\nExamples:\n"
    "  tessera plan --tables tables.json --topology h100 --ranks 16 -o before.json\n"
    "  tessera plan --tables tables.json --topology h100 --ranks 16 --batch 8192 -o after.json\n"
    "  tessera plan diff before.json after.json --tables tables.json --topology h100\n"
    "\n"
    "Rank 3 of one plan is rank 3 of the other, also where they have different numbers of ranks. "
    "Bytes that move are those of weights that a rank is to hold and does not hold yet, as "
    "--most-moved-bytes counts them; optimizer states go with their rows. Step and memory are "
    "those that tessera plan would say of either plan on this machine; of a calibrated one, the "
    "whole step.\n";

struct PlanDiffFlags {
  PlanFlags plan;
  std::string before, after;
  std::optional<int64_t> top;
};

ShardingPlan ReadPlan(const std::string& path) {
  const std::string text = ReadTextFile(path);
  if (text.find("\"tessera_sharding_plan\"") == std::string::npos)
    throw Error(
        Format("{}: expected a plan that tessera plan -o wrote; tessera plan --existing {} "
               "--most-moved-bytes 0 -o FILE makes one of a plan of TorchRec",
               path, path));
  ShardingPlan plan = PlanFromJson(text, path);
  try {
    CheckRanks(plan);
  } catch (const Error& error) {
    throw Error(Format("{}: {}", path, error.what()));
  }
  return plan;
}

// The machine with as many ranks as the plan has.
TopologyFile MachineOf(PlanFlags flags, const ShardingPlan& plan) {
  flags.ranks = plan.world_size;
  TopologyFile machine = ReadTopology(flags);
  if (machine.topology.group_size() == plan.local_size) return machine;
  flags.ranks_per_node = plan.local_size;
  return ReadTopology(flags);
}

std::vector<std::string> TablesOutside(const ShardingPlan& part, const ShardingPlan& whole) {
  std::vector<std::string> names;
  for (const auto& [name, sharding] : whole.tables)
    if (!part.tables.contains(name)) names.push_back(name);
  std::ranges::sort(names, NaturalLess());
  return names;
}

// A plan's ranks, tables and prices.
struct ReadSide {
  ComparedPlan compared;
  PlannerModel model = {};
  std::string cost_model = {};
};

void Price(const PlanFlags& flags, const TopologyFile& machine, const CalibratedOptions& known,
           ReadSide& side) {
  const PlannedTables priced = TablesInBoth(side.model, side.compared.plan);
  if (priced.model.tables.empty()) throw Error(Format("it has no table of {}", flags.tables));
  const EmbeddingShardingPlanner planner(
      machine.topology, priced.model,
      CostModelOptions(flags.cost_model, machine, priced.model, known));
  side.compared.load = LoadOfPlan(planner, priced.plan);
  side.compared.unpriced = TablesOutside(priced.plan, side.compared.plan);
  side.cost_model = CostModelName(flags.cost_model, machine);
}

// Without a word of the machine it is a CPU, which the plan may not be for.
std::string HintFor(const Error& error, const PlanFlags& flags) {
  const auto* planner_error = dynamic_cast<const PlannerError*>(&error);
  const bool other_device =
      planner_error != nullptr && planner_error->kind() == PlannerErrorKind::kNoKernelBandwidth;
  return other_device && flags.topology.empty() ? "; name the plan's machine by --topology" : "";
}

ReadSide Read(const PlanFlags& flags, const std::string& path) {
  ReadSide side{.compared = {.path = path, .plan = ReadPlan(path)}};
  const TopologyFile machine = MachineOf(flags, side.compared.plan);
  PlanInput input = ReadPlanInput(flags, machine.topology);
  const CalibratedOptions known = MeasureData(flags, input);
  side.model = std::move(input.model);
  try {
    CheckTables(side.model, side.compared.plan);
    Price(flags, machine, known, side);
  } catch (const Error& error) {
    throw Error(Format("{}: {}{}", path, error.what(), HintFor(error, flags)));
  }
  return side;
}

int Diff(const PlanDiffFlags& flags) {
  std::vector<std::string> reads = flags.plan.data;
  reads.insert(reads.end(), {flags.before, flags.after, flags.plan.tables, flags.plan.topology});
  Outputs outputs(/*overwrite=*/false, std::move(reads));
  outputs.AddReport(flags.plan.json, kPlanDiffReport);
  ReadSide before = Read(flags.plan, flags.before), after = Read(flags.plan, flags.after);
  PlanComparison comparison{
      .before = std::move(before.compared),
      .after = std::move(after.compared),
      .cost_model = after.cost_model,
      .machine = flags.plan.topology.empty() ? "a CPU (no --topology)" : flags.plan.topology};
  comparison.diff = DiffPlans(after.model, comparison.before.plan, comparison.after.plan);
  std::fputs(
      PlanDiffText(comparison, flags.top.value_or(std::numeric_limits<int64_t>::max())).c_str(),
      stdout);
  if (!flags.plan.json.empty()) ReplaceTextFile(flags.plan.json, PlanDiffJson(comparison));
  return 0;
}

}  // namespace

void AddPlanDiff(Command plan) {
  Command command = plan.AddCommandInPlace(
      "diff", "Compare two plans: tables and bytes that move, step time, memory.");
  const auto f = std::make_shared<PlanDiffFlags>();
  command.Add("before", f->before, "A plan that tessera plan -o wrote").Required().Value("PLAN");
  command.Add("after", f->after, "Another one, of any number of ranks").Required().Value("PLAN");
  AddTablesFlags(command, f->plan);
  AddCostFlags(command, f->plan);
  command
      .Add("--top", f->top,
           "Show this many tables, those that move the most bytes first; default: all")
      .Within(NumbersFrom(int64_t{0}, int64_t{1} << 40))
      .Value("N");
  command.Add("--json", f->plan.json, "Write all of it to this file as JSON").Value("FILE");
  command.Footer(kPlanDiffFooter);
  command.Run([f] { return Diff(*f); });
}

}  // namespace tessera::cli
