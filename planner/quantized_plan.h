#ifndef TESSERA_PLANNER_QUANTIZED_PLAN_H_
#define TESSERA_PLANNER_QUANTIZED_PLAN_H_
// A plan for quantized tables, found as for tables that are trained: TorchRec's shard_quant_model
// without a plan.
//
//   const auto model = quant::Quantize(ctx, collection);
//   const ShardingPlan plan = FindQuantizedPlan(model.tables().tables(), machine);
//   const quant::ShardedQuantEmbeddingBagCollection served(ctx, model, plan, {.devices = gpus});
#include <cstdint>
#include <span>

#include "embedding/quantized/quantized_table.h"
#include "planner/model/topology_json.h"
#include "planner/planner.h"
#include "sharding/plan/plan.h"

namespace tessera {

struct QuantizedPlanOptions {
  int64_t batch_size = 512;  // rows of a request
  double ids = 1;            // of a feature in a row, on the average
};

// Whole tables and blocks of rows over the ranks of the machine, by the cost model "bandwidth": the
// bytes are those of the stored rows, and nothing is updated. `result`, if given, gets what the
// planner says of it. Throws PlannerError where nothing fits.
ShardingPlan FindQuantizedPlan(std::span<const QuantizedTable> tables, const TopologyFile& machine,
                               const QuantizedPlanOptions& options = {},
                               PlanResult* result = nullptr);

}  // namespace tessera
#endif  // TESSERA_PLANNER_QUANTIZED_PLAN_H_
