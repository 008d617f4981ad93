#include "sharding/whole_rows.h"

#include <utility>

#include "sharding/table_checkpoint.h"

namespace tessera {
namespace {

TableShape ShapeOf(const BaseEmbeddingConfig& table) {
  return {table.name, table.num_embeddings, table.embedding_dim};
}

// A table as each rank holds it whole, `rows` being this rank's.
PlacedShards Whole(const ShardedTables& tables, const BaseEmbeddingConfig& table, Tensor rows) {
  const Communicator& comm = tables.comm();
  const TableShape shape = ShapeOf(table);
  return {internal::WholeOnEveryRank(shape, comm.size()),
          {internal::WholeShard(shape, comm.rank(), std::move(rows), {})}};
}

}  // namespace

namespace internal {

TableSharding WholeOnEveryRank(const TableShape& table, int ranks) {
  TableSharding whole{.type = ShardingType::kDataParallel, .shards = {}};
  for (int r = 0; r < ranks; ++r) whole.shards.push_back(WholeShard(table, r, {}, {}).shard);
  return whole;
}

ShardTensors WholeShard(const TableShape& table, int rank, Tensor weights,
                        std::vector<OptimizerState> states) {
  return {table.name, {rank, 0, 0, table.rows, table.dim}, std::move(weights), std::move(states)};
}

}  // namespace internal

std::vector<NamedTensor> WholeRows(Context& ctx, ShardedTables& tables,
                                   const std::string& parameter_prefix) {
  tables.Flush(ctx);
  const std::vector<ShardTensors> held = ShardTensorsOf(tables);
  std::vector<NamedTensor> all;
  for (const BaseEmbeddingConfig& table : tables.tables()) {
    const Tensor rows =
        Tensor::Empty(ctx, {table.num_embeddings, table.embedding_dim}, table.data_type);
    MoveShards(ctx, tables.comm(), table.name, {tables.plan().tables.at(table.name), held},
               Whole(tables, table, rows), ShardPart::kWeights);
    all.push_back({parameter_prefix + table.name + ".weight", rows});
  }
  return all;
}

void TakeWholeRows(Context& ctx, ShardedTables& tables, const std::string& parameter_prefix,
                   const std::map<std::string, Tensor>& rows) {
  tables.Flush(ctx);
  const std::vector<ShardTensors> held = ShardTensorsOf(tables);
  for (const BaseEmbeddingConfig& table : tables.tables()) {
    const auto given = rows.find(parameter_prefix + table.name + ".weight");
    if (given == rows.end()) continue;
    MoveShards(ctx, tables.comm(), table.name,
               Whole(tables, table, given->second.To(ctx, ctx.device()).Contiguous(ctx)),
               {tables.plan().tables.at(table.name), held}, ShardPart::kWeights);
  }
  tables.ResetCaches(ctx);
}

}  // namespace tessera
