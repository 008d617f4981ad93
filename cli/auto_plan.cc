#include "cli/auto_plan.h"

#include "cli/plan_inputs.h"
#include "planner/cost_models.h"
#include "planner/plan_conversion.h"
#include "train/planner_model.h"

namespace tessera::cli {

ShardingPlan AutoPlan(const TrainConfig& config, const RankLayout& layout, Device device,
                      const std::string& topology) {
  PlanFlags flags;
  flags.topology = !topology.empty() ? topology : device == Device::Cpu() ? "cpu" : "h100";
  flags.ranks = layout.world_size;
  flags.ranks_per_node = layout.local_size;
  const TopologyFile machine = ReadTopology(flags);
  const PlannerModel model = PlannerModelOf(config, layout.world_size);
  const EmbeddingShardingPlanner planner(machine.topology, model,
                                         CostModelOptions("", machine, model));
  return ToShardingPlan(machine.topology, model, planner.Plan().tables);
}

}  // namespace tessera::cli
