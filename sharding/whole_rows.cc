#include "sharding/whole_rows.h"

#include <utility>

#include "sharding/table_checkpoint.h"

namespace tessera {
namespace internal {

PlacedShards WholeOnEveryRank(const ShardedTables& tables, const BaseEmbeddingConfig& table,
                              Tensor weights, std::vector<OptimizerState> states) {
  const Communicator& comm = tables.comm();
  const auto whole = [&](int rank) {
    return Shard{rank, 0, 0, table.num_embeddings, table.embedding_dim};
  };
  TableSharding sharding{.type = ShardingType::kDataParallel, .shards = {}};
  for (int r = 0; r < comm.size(); ++r) sharding.shards.push_back(whole(r));
  return {std::move(sharding),
          {{table.name, whole(comm.rank()), std::move(weights), std::move(states)}}};
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
               internal::WholeOnEveryRank(tables, table, rows, {}), ShardPart::kWeights);
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
    const Tensor whole = given->second.To(ctx, ctx.device()).Contiguous(ctx);
    MoveShards(ctx, tables.comm(), table.name, internal::WholeOnEveryRank(tables, table, whole, {}),
               {tables.plan().tables.at(table.name), held}, ShardPart::kWeights);
  }
  tables.ForgetOldRows(ctx);
}

}  // namespace tessera
