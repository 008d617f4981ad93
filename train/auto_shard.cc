#include "train/auto_shard.h"

#include <utility>

#include "comm/leader.h"
#include "planner/cost_models.h"
#include "planner/plan_conversion.h"
#include "runtime/base/check.h"
#include "sharding/plan/plan_json.h"
#include "train/planner_model.h"

namespace tessera {

ShardingPlan FindPlan(const PlannerModel& model, const TopologyFile& machine,
                      const std::string& cost_model, PlanResult* result,
                      const CalibratedOptions& known) {
  const EmbeddingShardingPlanner planner(machine.topology, model,
                                         CostModelOptions(cost_model, machine, model, known));
  PlanResult found = planner.Plan();
  ShardingPlan plan = ToShardingPlan(machine.topology, model, found.tables);
  if (result != nullptr) *result = std::move(found);
  return plan;
}

ShardingPlan PlanOnLeader(Communicator& comm, const std::function<ShardingPlan()>& find,
                          std::optional<int> ranks) {
  const std::string json =
      InvokeOnRankAndBroadcastResult(comm, 0, "plan", [&] { return PlanToJson(find()); });
  ShardingPlan plan = PlanFromJson(json, "the plan of rank 0");
  TESSERA_CHECK_EQ(plan.world_size, ranks.value_or(comm.size()),
                   "ranks of the plan and of the communicator");
  return plan;
}

RankingModel AutoShard(Context& ctx, const RankingModelConfig& config, Communicator& comm,
                       const TopologyFile& machine, const AutoShardOptions& options) {
  ShardingPlan plan = PlanOnLeader(comm, [&] {
    return FindPlan(
        PlannerModelOf(config, options.batch_size, comm.size(), machine.topology.compute_device),
        machine, options.cost_model, nullptr, {.codecs = options.sharding.codecs});
  });
  const ModelSharding sharding{.comm = &comm, .plan = std::move(plan), .options = options.sharding};
  return RankingModel(ctx, config, sharding);
}

}  // namespace tessera
