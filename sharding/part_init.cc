#include "sharding/part_init.h"

#include <algorithm>
#include <memory>

#include "embedding/table/table_start.h"
#include "runtime/fill_uniform.h"

namespace tessera::internal {
namespace {

PartInit UniformInit(const BaseEmbeddingConfig& table, uint64_t sequence) {
  const auto [low, high] = InitRange(table);
  const int64_t dim = table.embedding_dim;
  const auto fill = [=](Context& ctx, const Tensor& rows, const Shard& shard) {
    constexpr int64_t kElementsAtOnce = 1 << 22;
    const int64_t at_once = std::max<int64_t>(1, kElementsAtOnce / dim);
    for (int64_t begin = 0; begin < shard.rows; begin += at_once) {
      const int64_t n = std::min(at_once, shard.rows - begin);
      const Tensor part = rows.Rows(begin, begin + n);
      const Tensor whole = shard.columns == dim ? part : Tensor::Empty(ctx, {n, dim});
      FillUniformFrom(ctx, whole, low, high, sequence, (shard.row_offset + begin) * dim);
      if (shard.columns != dim)
        part.CopyFrom(ctx, whole.Narrow(1, shard.column_offset, shard.columns));
    }
  };
  return {.fill = fill, .sequence = sequence};
}

// A user's init_fn fills the whole table; parts are cut out of it.
PartInit GivenInit(Context& ctx, const BaseEmbeddingConfig& table, bool needed,
                   WholeTables& wholes) {
  const auto whole =
      std::make_shared<Tensor>(Tensor::Empty(ctx, {table.num_embeddings, table.embedding_dim}));
  table.init_fn(ctx, *whole);  // on every rank: it takes random numbers
  if (!needed) *whole = {};
  wholes.tables.push_back(whole);
  const auto fill = [whole](Context& ctx, const Tensor& rows, const Shard& shard) {
    rows.CopyFrom(ctx, whole->Rows(shard.row_offset, shard.row_offset + shard.rows)
                           .Narrow(1, shard.column_offset, shard.columns));
  };
  return {.fill = fill};
}

}  // namespace

PartInit MakePartInit(Context& ctx, const BaseEmbeddingConfig& table, bool needed,
                      WholeTables& wholes) {
  CheckStartOnDisk(table);
  if (table.init_fn) return GivenInit(ctx, table, needed, wholes);
  PartInit init = UniformInit(table, ctx.random().TakeSequence());
  init.when_read = table.location == EmbeddingLocation::kDisk || TakesRowsOnUse(ctx, table);
  return init;
}

BaseEmbeddingConfig PartConfig(BaseEmbeddingConfig table, const Shard& shard,
                               const PartInit& init) {
  const bool on_disk = table.location == EmbeddingLocation::kDisk;
  if (!table.init_fn) table.init_range = InitRange(table);
  const int64_t whole_columns = table.embedding_dim;
  table.num_embeddings = shard.rows;
  table.embedding_dim = shard.columns;
  table.place = {shard.row_offset, shard.column_offset};
  table.index_remap = nullptr;  // ids are checked and remapped before they travel
  table.bounds_check = BoundsCheckMode::kNone;
  table.growing = table.growing && init.when_read && !on_disk;
  table.place.all_rows = table.growing;
  if (init.when_read) {
    table.place.whole_columns = whole_columns;
    table.place.start_sequence = init.sequence;
    return table;
  }
  table.place.fill = [fill = init.fill, shard](Context& ctx, const Tensor& rows) {
    fill(ctx, rows, shard);
  };
  return table;
}

}  // namespace tessera::internal
