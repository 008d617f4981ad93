#include "cli/plan/planner_options.h"

#include <utility>
#include <vector>

#include "planner/cost_models.h"
#include "planner/model/placement_rules_json.h"
#include "runtime/base/check.h"
#include "runtime/files/files.h"
#include "sharding/plan/torchrec_plan.h"

namespace tessera::cli {

PlacementRules ReadRules(const PlanFlags& flags, const PlannerModel& model,
                         const Topology& topology) {
  PlacementRules rules;
  if (!flags.constraints.empty())
    rules = PlacementRulesFromJson(ReadTextFile(flags.constraints), flags.constraints);
  if (flags.most_moved_bytes && flags.existing.empty())
    throw Error("--most-moved-bytes needs --existing PLAN");
  if (flags.existing.empty()) return rules;
  std::vector<TableShape> shapes;
  for (const PlannerTable& t : model.tables) shapes.push_back({t.name, t.rows, t.dim});
  rules.existing =
      ReadPlanFile(flags.existing, {topology.world_size, topology.local_world_size}, shapes);
  rules.most_moved_bytes = flags.most_moved_bytes;
  return rules;
}

PlannerOptions PlannerOptionsOf(const PlanFlags& flags, const PlannerModel& model,
                                const TopologyFile& machine, const CalibratedOptions& known,
                                PlacementRules rules) {
  PlannerOptions options = CostModelOptions(flags.cost_model, machine, model, known);
  options.rules = std::move(rules);
  if (flags.reserve)
    options.reservation.percentage = options.reservation.ddr_percentage = *flags.reserve;
  return options;
}

}  // namespace tessera::cli
