#include "sharding/live_reshard.h"

#include "runtime/base/check.h"
#include "sharding/checkpoint/move_shards.h"
#include "sharding/table_checkpoint.h"

namespace tessera {
namespace {

void CheckSameTables(const ShardedTables& from, const ShardedTables& to) {
  TESSERA_CHECK_EQ(from.comm().size(), to.comm().size(), "resharding: ranks");
  TESSERA_CHECK_EQ(from.comm().rank(), to.comm().rank(), "resharding: this rank");
  TESSERA_CHECK_EQ(from.tables().size(), to.tables().size(), "resharding: tables");
  for (size_t t = 0; t < from.tables().size(); ++t) {
    const BaseEmbeddingConfig &a = from.tables()[t], &b = to.tables()[t];
    TESSERA_CHECK_EQ(a.name, b.name, "resharding: table {}", t);
    TESSERA_CHECK_EQ(a.num_embeddings, b.num_embeddings, "resharding: rows of table {}", a.name);
    TESSERA_CHECK_EQ(a.embedding_dim, b.embedding_dim, "resharding: dim of table {}", a.name);
    TESSERA_CHECK_EQ(a.data_type, b.data_type, "resharding: row type of table {}", a.name);
    TESSERA_CHECK_EQ(std::string(RuleName(a.optimizer)), std::string(RuleName(b.optimizer)),
                     "resharding: rule of table {}", a.name);
  }
}

}  // namespace

void ReshardTables(Context& ctx, ShardedTables& from, ShardedTables& to) {
  CheckSameTables(from, to);
  from.Flush(ctx);
  to.Flush(ctx);
  const std::vector<ShardTensors> old_shards = ShardTensorsOf(from),
                                  new_shards = ShardTensorsOf(to);
  for (const BaseEmbeddingConfig& table : from.tables())
    for (const ShardPart part : {ShardPart::kWeights, ShardPart::kStates})
      MoveShards(ctx, from.comm(), table.name, {from.plan().tables.at(table.name), old_shards},
                 {to.plan().tables.at(table.name), new_shards}, part);
  to.ForgetOldRows(ctx);
  to.set_iter(from.iter());
  for (int t = 0; t < std::ssize(from.tables()); ++t) to.set_max_counter(t, from.max_counter(t));
}

}  // namespace tessera
