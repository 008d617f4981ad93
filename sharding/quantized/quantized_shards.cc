#include "sharding/quantized/quantized_shards.h"

#include <memory>
#include <set>

#include "embedding/quantized/slice_columns.h"

namespace tessera {
namespace {

// A context for each device, as long as shards are made.
class Movers {
 public:
  Context& For(Device device) {
    for (const auto& context : contexts_)
      if (context->device() == device) return *context;
    contexts_.push_back(std::make_unique<Context>(ContextOptions{.device = device, .threads = 1}));
    return *contexts_.back();
  }
  void Sync() const {
    for (const auto& context : contexts_) context->Sync();
  }

 private:
  std::vector<std::unique_ptr<Context>> contexts_;
};

void CheckServable(const QuantizedTable& table, const TableSharding& sharding) {
  TESSERA_CHECK(sharding.type != ShardingType::kDataParallel,
                "table {}: data_parallel is a way to train; a table that is only read lies on one "
                "device, or in parts",
                table.name);
  TESSERA_CHECK(
      sharding.kernel == ComputeKernel::kDense || sharding.kernel == ComputeKernel::kFused,
      "table {}: kernel {}; rows that are only read are kept on the host by a rank of the host",
      table.name, sharding.kernel);
  const int64_t step = ColumnStep(table.codec);
  for (const Shard& shard : sharding.shards)
    TESSERA_CHECK(shard.column_offset % step == 0,
                  "table {}: its plan ({}) cuts it in front of column {}; rows of {} are cut at "
                  "multiples of {} only",
                  table.name, ToString(sharding.type), shard.column_offset, table.codec, step);
}

// The shard as it is stored: the default row lies behind the last rows.
Shard Stored(const QuantizedTable& table, Shard shard) {
  if (shard.row_offset + shard.rows == table.num_embeddings) shard.rows += table.has_default_row;
  return shard;
}

QuantizedShard MakeShard(Movers& movers, const QuantizedTable& table, const Shard& part,
                         Device device) {
  const Shard shard = Stored(table, part);
  Tensor rows = table.rows.Rows(shard.row_offset, shard.row_offset + shard.rows);
  if (shard.columns != table.embedding_dim)
    rows = SliceColumns(movers.For(rows.device()), table.codec, rows, table.embedding_dim,
                        shard.column_offset, shard.columns);
  if (rows.device() != device) {
    movers.For(rows.device()).Sync();
    rows = rows.To(movers.For(device), device);
  }
  return {shard, rows, LayoutOf(table.codec, shard.columns)};
}

QuantizedTableShards MakeShards(Movers& movers, const QuantizedTable& table,
                                const TableSharding& sharding, std::span<const Device> devices) {
  CheckServable(table, sharding);
  QuantizedTableShards result;
  std::set<int64_t> begins;
  for (const Shard& shard : sharding.shards) {
    if (shard.rows == 0) continue;
    result.shards.push_back(
        MakeShard(movers, table, shard, devices[static_cast<size_t>(shard.rank)]));
    begins.insert(shard.row_offset);
  }
  result.row_begins.assign(begins.begin(), begins.end());
  result.row_end = table.num_embeddings + table.has_default_row;
  return result;
}

}  // namespace

std::vector<QuantizedTableShards> ShardQuantizedTables(std::span<const QuantizedTable> tables,
                                                       const ShardingPlan& plan,
                                                       std::span<const Device> devices) {
  TESSERA_CHECK_EQ(static_cast<int64_t>(devices.size()), plan.world_size,
                   "devices, one a rank of the plan");
  std::vector<TableShape> shapes;
  for (const QuantizedTable& table : tables)
    shapes.push_back({table.name, table.num_embeddings, table.embedding_dim});
  CheckPlan(plan, shapes);
  Movers movers;
  std::vector<QuantizedTableShards> result;
  for (const QuantizedTable& table : tables)
    result.push_back(MakeShards(movers, table, plan.tables.at(table.name), devices));
  movers.Sync();
  return result;
}

}  // namespace tessera
