#ifndef TESSERA_PLANNER_STEP_MODEL_STEP_MEMORY_H_
#define TESSERA_PLANNER_STEP_MODEL_STEP_MEMORY_H_
// The bytes that a training step of a sharded model needs on each rank.
//
//   rows, states   of the rank's parts of tables; gradients of whole tables count as states
//   input          ids, lengths and weights of a batch: own ones, messages, and what came in
//                  sorted; once for each batch in flight
//   rows_moved     looked-up rows, messages, outputs, and the same again for gradients; under a
//                  codec its bytes as well
//   workspace      of the update: 16 bytes an id (24 in parts above 2^32 rows, 12 more with
//                  weights) and 12 a bag
//
// Sizes are of batches as the load says them: means, not the largest batch.
#include <vector>

#include "planner/step_model/step_load.h"
#include "sharding/plan/plan.h"

namespace tessera {

struct MemoryBytes {
  double rows = 0, states = 0, input = 0, rows_moved = 0, workspace = 0;

  double total() const { return rows + states + input + rows_moved + workspace; }
  MemoryBytes& operator+=(const MemoryBytes& other);
};

struct ShardMemory {
  MemoryBytes own, everyone;  // as in shard_work.h
};

struct MemorySettings {
  const StepLoad* load = nullptr;
  double ranks = 1;
  double batches_in_flight = 1;  // with the one that is being trained
};

ShardMemory MemoryOfShard(const MemorySettings& settings, const StepTable& table,
                          const Shard& shard);
// A data_parallel table, on every rank.
MemoryBytes MemoryOfReplica(const MemorySettings& settings, const StepTable& table);

// Returns the memory of each rank. Throws Error for a plan that is not one of these tables.
std::vector<MemoryBytes> MemoryOfPlan(const StepLoad& load, const ShardingPlan& plan,
                                      double batches_in_flight = 1);

}  // namespace tessera
#endif  // TESSERA_PLANNER_STEP_MODEL_STEP_MEMORY_H_
