#include "sharding/managed_collision/make_managed_tables.h"

#include "runtime/base/check.h"

namespace tessera {
namespace {

MakePartModule MakerOf(const ManagedCollisionConfig& config, const BaseEmbeddingConfig& table) {
  return [config, part_of = table](Context& ctx, int64_t, int64_t rows) {
    BaseEmbeddingConfig part = part_of;
    part.num_embeddings = rows;
    return MakeManagedCollisionModule(ctx, config, part);
  };
}

}  // namespace

std::shared_ptr<ManagedCollisionModule> MakeManagedCollisionModule(
    Context& ctx, const ManagedTableConfig& config, const BaseEmbeddingConfig& table) {
  if (config.num_parts == 0) return MakeManagedCollisionModule(ctx, config.module, table);
  const HashParts parts = MakeHashParts(table.name, table.num_embeddings, config.num_parts);
  return std::make_shared<PartitionedManagedCollisionModule>(
      ctx, parts, 0, parts.num_parts, MakerOf(config.module, table), TakeSeed(ctx));
}

ShardedManagedTable ShardedManagedTableOf(const ManagedTableConfig& config,
                                          const BaseEmbeddingConfig& table) {
  TESSERA_CHECK(
      config.num_parts > 0,
      "table {}: its raw ids are in no parts, but over ranks they have to be: expected "
      "num_parts, a divisor of its {} rows (--set managed_collision.num_parts=N, or of one "
      "table --set tables[name={}].managed_collision.num_parts=N)",
      table.name, table.num_embeddings, table.name);
  return {table.name, config.num_parts, MakerOf(config.module, table)};
}

}  // namespace tessera
