#include "planner/plan_conversion.h"

#include <set>

#include "planner/model/planner_error.h"
#include "planner/search/enumerator.h"
#include "runtime/base/check.h"

namespace tessera {
namespace {

ComputeKernel CheckedKernel(PlanKernel kernel, const std::string& table) {
  const std::optional<ComputeKernel> trained = TrainedKernel(kernel);
  TESSERA_CHECK(trained.has_value(),
                "table {}: this build does not train with kernel {} (there is dense, fused, "
                "fused_uvm, fused_uvm_caching and key_value)",
                table, kernel);
  return *trained;
}

}  // namespace

void CheckAllTablesPlaced(const Topology& topology, const PlannerModel& model,
                          const std::vector<PlacedOption>& tables) {
  std::set<int> placed;
  for (const PlacedOption& table : tables) placed.insert(table.option.table);
  for (size_t t = 0; t < model.tables.size(); ++t) {
    if (placed.contains(static_cast<int>(t))) continue;
    const PlannerTable& table = model.tables[t];
    const auto& group = model.constraints_of(table).device_group;
    throw PlannerError(
        PlannerErrorKind::kMissingTableInPlan,
        Format("table {}: it is not in the plan: its constraints ask for device_group {}, and the "
               "topology has {} devices alone",
               model.full_name(table), group ? ToString(*group) : "(none)",
               topology.compute_device));
  }
}

ShardingPlan ToShardingPlan(const Topology& topology, const PlannerModel& model,
                            const std::vector<PlacedOption>& tables) {
  CheckAllTablesPlaced(topology, model, tables);
  ShardingPlan plan;
  plan.world_size = topology.world_size;
  plan.local_size = topology.group_size();
  std::vector<TableShape> shapes;
  for (const PlacedOption& placed : tables) {
    const PlannerTable& table = model.tables[static_cast<size_t>(placed.option.table)];
    TableSharding sharding{
        .type = placed.option.type,
        .shards = ShardsOf(topology, model, placed.option.table, placed.option.type),
        .kernel = CheckedKernel(placed.option.kernel, table.name)};
    TESSERA_CHECK_EQ(sharding.shards.size(), placed.ranks.size(), "table {}: ranks of its shards",
                     table.name);
    for (size_t i = 0; i < placed.ranks.size(); ++i) sharding.shards[i].rank = placed.ranks[i];
    if (!plan.tables.emplace(table.name, std::move(sharding)).second)
      throw Error(Format(
          "table {}: two modules have a table of this name, and a sharding plan names tables "
          "without their modules: give one of them another name",
          table.name));
    shapes.push_back({table.name, table.planned_rows(), table.planned_dim()});
  }
  CheckPlan(plan, shapes);
  return plan;
}

}  // namespace tessera
