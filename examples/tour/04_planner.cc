// The planner
//
// Tables are often larger than the memory of one machine or GPU, so they are cut, and the parts go
// to ranks: whole tables (table_wise), blocks of columns (column_wise) or of rows (row_wise), and
// mixtures. Which way is best depends on the tables, on the batches, and on how fast a machine
// reads its memory and talks to the others. The planner weighs that and returns a plan: for each
// table a type of sharding, and a rank for each part.
//
// In TorchRec: `EmbeddingShardingPlanner(topology=Topology(world_size=1,
// compute_device="cuda")).collective_plan(ebc, [sharder], pg)`.
#include <iostream>

#include "tessera/tessera.h"

using namespace tessera;

namespace {

// The plan for these tables on `ranks` GPUs of 32 GiB; the GPUs need not be there.
ShardingPlan PlanFor(int ranks, const std::vector<PlannerTable>& tables) {
  Topology topology;  // its memories and speeds are TorchRec's; `tessera calibrate` measures yours
  topology.compute_device = ComputeDevice::kCuda;
  topology.world_size = topology.local_world_size = ranks;
  PlannerModel model;
  model.batch_size = 512;  // of a rank
  model.modules = {{.path = "", .kind = ModuleKind::kEbc}};
  model.tables = tables;
  const EmbeddingShardingPlanner planner(topology, model);
  return ToShardingPlan(topology, model, planner.Plan().tables);
}

PlannerTable Table(const std::string& name, int64_t rows, int64_t dim, const std::string& feature) {
  return {.name = name, .rows = rows, .dim = dim, .features = {feature}};
}

}  // namespace

int main() {
  // The two tables of the chapters before, on one GPU: there is little to decide.
  std::cout << ToString(PlanFor(
      1, {Table("product_table", 4096, 64, "product"), Table("user_table", 4096, 64, "user")}));

  // 200 million users of 128 floats take 95 GiB: no GPU holds them, four together do. The planner
  // cuts that table, and puts the others where there is room and time.
  std::cout << "\n"
            << ToString(PlanFor(4, {Table("product_table", 10'000'000, 128, "product"),
                                    Table("user_table", 200'000'000, 128, "user"),
                                    Table("country_table", 250, 128, "country")}));
}
