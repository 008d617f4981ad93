#include "planner/step_model/plan_routes.h"

#include "sharding/exchange/node_routes.h"

namespace tessera {
namespace {

bool Travels(const StepTable& table, const TableSharding& sharding) {
  return !table.sequences && sharding.type != ShardingType::kDataParallel;
}

// The share of a node's block that is this shard's: those of the same columns are one where all of
// them lie in one node.
double ShareOfBlock(const TableSharding& sharding, const Shard& shard, int local_size) {
  double together = 0;
  for (const Shard& other : sharding.shards) {
    if (other.rows == 0 || other.column_offset != shard.column_offset) continue;
    if (other.rank / local_size != shard.rank / local_size) return 1;
    ++together;
  }
  return 1 / together;
}

}  // namespace

PlanRoutes::PlanRoutes(const StepLoad& load, const ShardingPlan& plan) : plan_(plan) {
  if (plan.local_size == 1 || plan.local_size == plan.world_size) return;
  double parts = 0, sums = 0;
  for (const StepTable& table : load.tables) {
    const TableSharding& sharding = plan.tables.at(table.name);
    if (!Travels(table, sharding)) continue;
    for (const Shard& shard : sharding.shards) {
      if (shard.rows == 0) continue;
      const double columns =
          static_cast<double>(shard.columns) * static_cast<double>(table.features.size());
      parts += columns;
      sums += columns * ShareOfBlock(sharding, shard, plan.local_size);
    }
  }
  pooled_by_node_ = PaysByNode(parts, sums, plan.world_size, plan.local_size);
}

bool PlanRoutes::ByNode(const StepTable& table) const {
  return pooled_by_node_ && Travels(table, plan_.tables.at(table.name));
}

ShardRoute PlanRoutes::Of(const StepTable& table, const Shard& shard) const {
  if (!ByNode(table)) return {};
  return {true, ShareOfBlock(plan_.tables.at(table.name), shard, plan_.local_size)};
}

}  // namespace tessera
