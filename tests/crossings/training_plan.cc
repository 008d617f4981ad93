#include "tests/crossings/training_plan.h"

#include <map>
#include <vector>

#include "sharding/plan/plan_makers.h"

namespace tessera::testing {

ShardingPlan TrainingPlanOf(const Point& point, const TrainConfig& config,
                            const std::string& type) {
  const int world = std::stoi(point["ranks"]);
  std::vector<TableShape> shapes;
  for (const EmbeddingBagConfig& t : config.tables)
    shapes.push_back({t.name, t.num_embeddings, t.embedding_dim});
  const int last = world - 1;
  const std::map<std::string, TableSharder> sharders = {
      {"data_parallel", DataParallel()},
      {"table_wise", TableWise(last)},
      {"column_wise", ColumnWise({0, last})},
      {"row_wise", RowWise()},
      {"table_row_wise", TableRowWise(0)},
      {"table_column_wise", TableColumnWise({last, last})},
      {"grid_shard", GridShard({0, world == 4 ? 1 : 0}, 4)}};
  const RankLayout layout{world, world == 4 ? 2 : world};
  if (type == "mixed")
    return MakeShardingPlan(
        layout, shapes,
        {{"a", sharders.at("row_wise")}, {"b", TableWise(0)}, {"c", sharders.at("column_wise")}});
  return MakeShardingPlan(layout, shapes, sharders.at(type));
}

std::string OtherShardingOf(const std::string& type) {
  if (type == "table_wise") return "row_wise";
  if (type == "row_wise") return "table_row_wise";
  if (type == "column_wise") return "grid_shard";
  if (type == "table_column_wise" || type == "grid_shard") return "column_wise";
  return type == "mixed" ? type : "table_wise";
}

}  // namespace tessera::testing
