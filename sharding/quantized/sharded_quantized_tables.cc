#include "sharding/quantized/sharded_quantized_tables.h"

#include <utility>

#include "embedding/quantized/quantized_state.h"
#include "sharding/quantized/sharded_forward.h"

namespace tessera {

using internal::QuantizedState;

struct ShardedQuantizedTables::State : internal::ShardedQuantizedState {
  using ShardedQuantizedState::ShardedQuantizedState;
};

namespace {

std::vector<Device> DevicesOf(const Context& ctx, const ShardingPlan& plan,
                              std::vector<Device> devices) {
  CheckRanks(plan);
  if (devices.empty()) devices.assign(static_cast<size_t>(plan.world_size), ctx.device());
  return devices;
}

// The tables as home needs them.
std::vector<QuantizedTable> WithoutRows(Context& ctx, std::vector<QuantizedTable> tables) {
  for (QuantizedTable& table : tables) {
    table.rows = {};
    if (table.index_remap)
      table.index_remap = std::make_shared<const IndexRemap>(table.index_remap->To(ctx));
  }
  return tables;
}

}  // namespace

ShardedQuantizedTables::ShardedQuantizedTables(Context& ctx,
                                               const QuantizedTableBatchedEmbedding& tables,
                                               const ShardingPlan& plan,
                                               ShardedQuantOptions options)
    : state_(std::make_unique<State>(
          ctx, WithoutRows(ctx, tables.tables()), tables.features(), tables.options(),
          DevicesOf(ctx, plan, std::move(options.devices)), options.threads)) {
  state_->SetShards(ShardQuantizedTables(tables.tables(), plan, state_->devices));
}

ShardedQuantizedTables::~ShardedQuantizedTables() = default;
ShardedQuantizedTables::ShardedQuantizedTables(ShardedQuantizedTables&&) noexcept = default;
ShardedQuantizedTables& ShardedQuantizedTables::operator=(ShardedQuantizedTables&&) noexcept =
    default;

QuantizedOutputs ShardedQuantizedTables::Forward(Context& ctx, const KeyedJaggedTensor& kjt) const {
  return internal::ShardedForward(ctx, *state_, kjt);
}

const std::vector<EmbeddingFeature>& ShardedQuantizedTables::features() const {
  return state_->home.features;
}
const std::vector<QuantizedTable>& ShardedQuantizedTables::tables() const {
  return state_->home.tables;
}

int64_t ShardedQuantizedTables::nbytes(int rank) const {
  int64_t bytes = 0;
  for (const QuantizedTableShards& table : state_->shards)
    for (const QuantizedShard& shard : table.shards)
      if (shard.shard.rank == rank) bytes += shard.rows.nbytes();
  return bytes;
}

BoundsCheckReport ShardedQuantizedTables::bounds_check_report() const {
  return state_->home.findings.ReportSync();
}

}  // namespace tessera
