#include "sharding/checkpoint/reshard_checkpoint.h"

#include "sharding/plan/column_cuts.h"

namespace tessera {
namespace {

ShardStreams MakeStreams(ShardedCheckpoint& from, const std::string& table, const Shard& shard,
                         StreamProgress& progress) {
  const std::optional<StartedRows> started = from.Started(table, shard);
  const auto stream = [&](const std::string& tensor) {
    return progress.Watch(from.Stream(table, shard, tensor, started));
  };
  ShardStreams streams{table, shard, stream(kWeightName), {}, started};
  for (const StoredState& state : from.index().tables.at(table).states)
    streams.states.push_back({state.name, state.per_row, stream(state.name)});
  return streams;
}

// The shards that each rank of a plan writes.
std::vector<std::vector<ShardStreams>> ShardsByRank(ShardedCheckpoint& from,
                                                    const ShardingPlan& plan,
                                                    StreamProgress& progress) {
  std::vector<std::vector<ShardStreams>> ranks(static_cast<size_t>(plan.world_size));
  for (const auto& [name, sharding] : plan.tables)
    for (const Shard& shard : sharding.shards)
      if (IsWritten(plan, name, shard, shard.rank))
        ranks[static_cast<size_t>(shard.rank)].push_back(MakeStreams(from, name, shard, progress));
  return ranks;
}

void CheckTables(const ShardedCheckpoint& from, const ShardingPlan& plan) {
  CheckPlan(plan, ShapesOf(from.info()));
  for (const CheckpointTable& table : from.info().tables)
    CheckColumnCut(table.shape.name, plan.tables.at(table.shape.name), table.shape.dim, table.rule);
}

}  // namespace

StreamedTensor StreamProgress::Watch(StreamedTensor tensor) {
  if (!progress_) return tensor;
  total_ += tensor.shape.numel() * SizeOf(tensor.dtype);
  auto make = [this, make = std::move(tensor.make)](const StreamedTensor::Sink& sink) {
    make([&](const void* bytes, int64_t count) {
      sink(bytes, count);
      done_ += count;
      progress_(done_, total_);
    });
  };
  return {tensor.dtype, tensor.shape, std::move(make)};
}

void ReshardCheckpoint(ShardedCheckpoint& from, const ShardingPlan& plan, const std::string& to,
                       const CheckpointProgress& progress) {
  CheckTables(from, plan);
  CheckpointInfo info = from.info();
  info.plan = plan;
  StreamProgress watched(progress);
  std::vector<std::vector<ShardStreams>> ranks = ShardsByRank(from, plan, watched);
  std::map<std::string, StreamedTensor> whole;
  for (const auto& [name, stored] : from.index().whole)
    whole[name] = watched.Watch(from.StreamWhole(name));

  const int64_t save = NextSave(to);
  std::vector<std::string> parts;
  try {
    for (int rank = 0; rank < plan.world_size; ++rank)
      parts.push_back(WritePart(to, save, rank, plan, std::move(ranks[static_cast<size_t>(rank)]),
                                rank == 0 ? whole : std::map<std::string, StreamedTensor>{}));
    CommitSave(to, save, info, parts);
  } catch (...) {
    for (int rank = 0; rank < plan.world_size; ++rank) DiscardPart(to, save, rank);
    throw;
  }
}

}  // namespace tessera
