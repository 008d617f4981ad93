// tessera plan: decides which table goes where.
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/command.h"
#include "cli/outputs.h"
#include "cli/plan/plan_diff_command.h"
#include "cli/plan/plan_inputs.h"
#include "cli/plan/plan_report.h"
#include "cli/plan/plan_simulate.h"
#include "cli/plan/plan_validate.h"
#include "cli/plan/plan_what_if.h"
#include "cli/plan/planner_options.h"
#include "planner/cost_models.h"
#include "planner/explain.h"
#include "planner/plan_conversion.h"
#include "planner/plan_load.h"
#include "planner/plan_picture.h"
#include "planner/stats.h"
#include "runtime/base/check.h"
#include "runtime/files/files.h"
#include "sharding/plan/plan_json.h"

namespace tessera::cli {
namespace {

constexpr char kDescription[] =
    "Plan which table goes to which ranks, whole, by rows or by columns, and say why.";
constexpr char kFooter[] =
    "\nExamples:\n"
    "  tessera plan --tables examples/criteo.json --ranks 4 -o plan.json --html plan.html\n"
    "  tessera calibrate --ranks 4 -o topology.json\n"
    "  tessera plan --tables examples/criteo.json --data clicks.tsv --topology topology.json \\\n"
    "    --validate 4 -o plan.json\n"
    "  tessera plan --tables tables.json --topology h100 --ranks 64 --cost-model torchrec\n"
    "  tessera plan --tables tables.json --topology topology.json --ranks 4 \\\n"
    "    --what-if ranks=2,8 --what-if batch=512,2048 --html what_if.html\n"
    "  tessera plan --tables tables.json --topology topology.json --ranks 512 --simulate 100\n"
    "  tessera train --config examples/criteo.json --data clicks.tsv --ranks 4 --plan plan.json\n"
    "  tessera plan diff plan.json other.json --tables examples/criteo.json\n"
    "\n"
    "Times are those of tables in a training step, but for the predicted step, which a measured "
    "machine has. The bound says what no plan can beat under the same cost model. Equal input "
    "gives the same plan on every machine.\n"
    "\n"
    "--cost-model torchrec tries TorchRec's proposers before the search, except beside --existing, "
    "and beside together and apart of --constraints, which they do not know.\n"
    "\n"
    "--what-if plans at each point of a grid, the current one among them. Its keys: ranks; hbm, "
    "ddr and disk, in GiB of a rank (disk lets tables lie there behind a cache); batch, of a rank; "
    "codec of the exchanges, as fp16 or int8 (of a measured topology); intra_bw and inter_bw, GB/s "
    "of a rank inside its node and to others (elsewhere).\n"
    "\n"
    "--simulate plays work and exchanges of every rank: an exchange ends when all of its ranks "
    "have come. Work varies by itself on each rank between each two exchanges.\n";

// The step model of --validate and --simulate; null without them.
const StepModel* StepModelFor(const PlanFlags& flags, const EmbeddingShardingPlanner& planner) {
  if (flags.validate == 0 && flags.simulate == 0) return nullptr;
  const StepModel* model = StepModelOf(planner.options());
  if (model != nullptr) return model;
  const char* flag = flags.validate > 0 ? "--validate" : "--simulate";
  if (!flags.cost_model.empty())
    throw Error(
        Format("{} beside --cost-model {}: it needs the calibrated one, of a --topology of "
               "tessera calibrate",
               flag, flags.cost_model));
  throw Error(Format("{} needs the calibrated cost model: --topology of tessera calibrate", flag));
}

void CheckOutputs(const PlanFlags& flags) {
  std::vector<std::string> reads = flags.data;
  reads.insert(reads.end(), {flags.tables, flags.topology, flags.constraints, flags.existing});
  Outputs outputs(/*overwrite=*/false, std::move(reads));
  outputs.AddReport(flags.out, kPlan);
  outputs.AddReport(flags.html, kPlanPage);
  outputs.AddReport(flags.json, kPlanReport);
}

int Plan(const PlanFlags& flags) {
  if (!flags.what_if.empty()) return PlanWhatIf(flags);
  CheckOutputs(flags);
  const TopologyFile machine = ReadTopology(flags);
  PlanInput input = ReadPlanInput(flags, machine.topology);
  const CalibratedOptions known = MeasureData(flags, input);
  const EmbeddingShardingPlanner planner(
      machine.topology, input.model,
      PlannerOptionsOf(flags, input.model, machine, known,
                       ReadRules(flags, input.model, machine.topology)));
  const StepModel* step_model = StepModelFor(flags, planner);
  const std::string cost_model = CostModelName(flags.cost_model, machine);
  const PlanResult plan = planner.Plan();
  std::optional<ShardingPlan> sharding;
  if (!flags.out.empty() || step_model != nullptr)
    sharding = ToShardingPlan(planner.topology(), planner.model(), plan.tables);
  const PlanExplanation explanation = Explain(planner, plan);
  const PlanLoad load = LoadOfPlan(planner, plan);
  std::printf("%s\n%s\n%s\n",
              StatsText(planner.topology(), planner.model(), plan, load.stats).c_str(),
              ExplanationText(explanation, plan).c_str(), PlanLine(plan, cost_model).c_str());
  if (load.whole_step)
    std::printf("predicted step: %.4g ms, dense layers and waiting included\n", load.step_ms);
  if (!flags.out.empty()) ReplaceTextFile(flags.out, PlanToJson(*sharding));
  if (!flags.html.empty())
    ReplaceTextFile(flags.html,
                    PlanPicture(planner.topology(), planner.model(), plan.tables, load.stats,
                                {.title = "Sharding plan of " + flags.tables,
                                 .lower_bound = plan.lower_bound}));
  std::vector<ValidatedPlan> validated;
  if (flags.validate > 0) {
    validated = ValidatePlan(*step_model, *sharding, flags.validate);
    std::printf("\n%s", ValidationText(validated).c_str());
  }
  std::vector<SimulatedPlan> simulated;
  if (flags.simulate > 0) {
    simulated = SimulatePlan(*step_model, *sharding, flags);
    std::printf("\n%s", SimulationText(simulated, step_model->layout().world_size).c_str());
  }
  if (!flags.json.empty())
    ReplaceTextFile(flags.json,
                    PlanReportJson(plan, explanation, cost_model, load, validated, simulated));
  return 0;
}

}  // namespace

void AddPlanCommand(Command app) {
  Command command = app.AddCommand("plan", kDescription);
  const auto flags = std::make_shared<PlanFlags>();
  AddPlanFlags(command, *flags);
  AddPlanDiff(command);
  command.Footer(kFooter);
  command.SayElsewhere([](const std::string& flag) -> std::string {
    return flag == "--config" ? "give the configuration as --tables FILE" : "";
  });
  command.Run([flags] { return Plan(*flags); });
}

}  // namespace tessera::cli
