#include "planner/quantized_plan.h"

#include <utility>
#include <vector>

#include "planner/cost_models.h"
#include "planner/plan_conversion.h"

namespace tessera {
namespace {

PlannerModel PlannerModelOf(std::span<const QuantizedTable> tables,
                            const QuantizedPlanOptions& options) {
  PlannerModel model;
  model.batch_size = options.batch_size;
  model.estimator.is_inference = true;
  model.modules = {{.path = "", .kind = ModuleKind::kQuantEbc}};
  for (const QuantizedTable& table : tables) {
    model.tables.push_back({.name = table.name,
                            .rows = table.num_embeddings,
                            .dim = table.embedding_dim,
                            .dtype = RowDType::kInt8,
                            .features = table.feature_names,
                            .stored_dim = table.rows.dim(1),
                            .stored_element_bytes = 1});
    TableConstraints& constraints = model.constraints[table.name];
    constraints.sharding_types = {ShardingType::kTableWise, ShardingType::kRowWise};
    constraints.pooling_factors.assign(table.feature_names.size(), options.ids);
  }
  return model;
}

// A plan has no kernel for rows that are only read: they lie where a fused table's would.
std::vector<PlacedOption> AsFused(std::vector<PlacedOption> tables) {
  for (PlacedOption& table : tables) table.option.kernel = PlanKernel::kFused;
  return tables;
}

// The planner's columns are bytes of stored rows, and no table is cut between them.
void CountColumns(std::span<const QuantizedTable> tables, ShardingPlan& plan) {
  for (const QuantizedTable& table : tables)
    for (Shard& shard : plan.tables.at(table.name).shards) shard.columns = table.embedding_dim;
}

}  // namespace

ShardingPlan FindQuantizedPlan(std::span<const QuantizedTable> tables, const TopologyFile& machine,
                               const QuantizedPlanOptions& options, PlanResult* result) {
  const PlannerModel model = PlannerModelOf(tables, options);
  const EmbeddingShardingPlanner planner(machine.topology, model,
                                         CostModelOptions("bandwidth", machine, model));
  PlanResult found = planner.Plan();
  ShardingPlan plan = ToShardingPlan(machine.topology, model, AsFused(found.tables));
  CountColumns(tables, plan);
  if (result != nullptr) *result = std::move(found);
  return plan;
}

}  // namespace tessera
