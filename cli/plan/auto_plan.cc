#include "cli/plan/auto_plan.h"

#include "cli/plan/plan_inputs.h"
#include "cli/plan/plan_report.h"
#include "cli/show/log.h"
#include "planner/cost_models.h"
#include "train/auto_shard.h"
#include "train/planner_model.h"

namespace tessera::cli {

ShardingPlan FindAutoPlan(const TrainConfig& config, const RankLayout& layout, Device device,
                          const std::string& topology) {
  PlanFlags flags;
  flags.topology = !topology.empty() ? topology : device == Device::Cpu() ? "cpu" : "h100";
  flags.ranks = layout.world_size;
  flags.ranks_per_node = layout.local_size;
  const TopologyFile machine = ReadTopology(flags);
  PlanResult found;
  ShardingPlan plan = FindPlan(PlannerModelOf(config, layout.world_size), machine, "", &found);
  Note("plan: " + PlanLine(found, CostModelName("", machine)), {{"rating", found.rating}});
  return plan;
}

ShardingPlan AutoPlan(const TrainConfig& config, Communicator& comm, const RankLayout& layout,
                      Device device, const std::string& topology) {
  return PlanOnLeader(
      comm, [&] { return FindAutoPlan(config, layout, device, topology); }, layout.world_size);
}

}  // namespace tessera::cli
