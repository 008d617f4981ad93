#include "sharding/quantized/sharded_quantized_state.h"

#include <algorithm>
#include <utility>

#include "runtime/base/check.h"

namespace tessera::internal {
namespace {

AnswerPath PathOf(const QuantizedTable& table, const QuantizedTableShards& shards,
                  const std::vector<Device>& devices, Device home) {
  const bool at_home = std::all_of(
      shards.shards.begin(), shards.shards.end(),
      [&](const QuantizedShard& s) { return devices[static_cast<size_t>(s.shard.rank)] == home; });
  if (at_home && !shards.row_split()) return AnswerPath::kDirect;
  const bool sequence = table.pooling == PoolingType::kNone;
  return sequence && shards.whole() ? AnswerPath::kMoved : AnswerPath::kAnswers;
}

}  // namespace

ShardedQuantizedState::ShardedQuantizedState(Context& ctx, std::vector<QuantizedTable> tables,
                                             std::vector<EmbeddingFeature> features,
                                             QuantizedOptions options,
                                             std::vector<Device> the_devices, int threads)
    : home(ctx, std::move(tables), std::move(features), options),
      home_device(ctx.device()),
      devices(std::move(the_devices)),
      pooled_type(options.output_type),
      workers(devices, threads) {}

void ShardedQuantizedState::SetShards(std::vector<QuantizedTableShards> the_shards) {
  shards = std::move(the_shards);
  for (size_t t = 0; t < shards.size(); ++t) {
    const QuantizedTable& table = home.tables[t];
    TESSERA_CHECK(home.options.output_type != DType::kU8 || shards[t].whole(),
                  "table {}: u8 outputs are stored rows, which a table in parts does not have",
                  table.name);
    paths.push_back(PathOf(table, shards[t], devices, home_device));
    if (paths.back() == AnswerPath::kAnswers && table.pooling != PoolingType::kNone)
      pooled_type = DType::kF32;
  }
  // Rows stay until the ranks have done what they were given.
  std::vector<RankTask> tasks(devices.size());
  for (size_t r = 0; r < tasks.size(); ++r)
    tasks[r] = [this, r](Context& rank) {
      for (const QuantizedTableShards& table : shards)
        for (const QuantizedShard& shard : table.shards)
          if (static_cast<size_t>(shard.shard.rank) == r) shard.rows.RecordStream(rank);
    };
  workers.Run(tasks);
}

}  // namespace tessera::internal
