#ifndef TESSERA_TESTS_PLANNER_SMALL_MODEL_H_
#define TESSERA_TESTS_PLANNER_SMALL_MODEL_H_
// Models and topologies for the planner's tests.
#include <string>
#include <utility>
#include <vector>

#include "planner/planner.h"

namespace tessera {

// One collection "ebc" of tables t0, t1, … of the given [rows, dim].
inline PlannerModel ModelOf(const std::vector<std::pair<int64_t, int64_t>>& shapes) {
  PlannerModel model;
  model.modules = {{.path = "ebc"}};
  for (const auto& [rows, dim] : shapes) {
    PlannerTable table;
    table.name = "t" + std::to_string(model.tables.size());
    table.rows = rows;
    table.dim = dim;
    model.tables.push_back(table);
  }
  return model;
}

inline Topology GpuTopology(int ranks, int local_ranks) {
  Topology topology;
  topology.world_size = ranks;
  topology.local_world_size = local_ranks;
  return topology;
}

// Everything that a plan must keep: each table once, every shard on a rank, memory within capacity.
void ExpectSound(const Topology& topology, const PlannerModel& model, const PlanResult& plan);

}  // namespace tessera
#endif  // TESSERA_TESTS_PLANNER_SMALL_MODEL_H_
