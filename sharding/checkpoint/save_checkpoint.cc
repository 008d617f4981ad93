#include "sharding/checkpoint/save_checkpoint.h"

#include "comm/leader.h"
#include "sharding/checkpoint/state_rows.h"

namespace tessera {
namespace {

constexpr char kWhat[] = "saving a checkpoint";

std::string WriteMine(Context& ctx, int rank, const std::string& folder, int64_t save,
                      const ShardingPlan& plan, std::span<const ShardTensors> shards,
                      std::span<const NamedTensor> whole, std::span<const NamedTensor> own) {
  std::vector<ShardStreams> streams;
  for (const ShardTensors& shard : shards) streams.push_back(MakeStreams(ctx, shard));
  return WritePart(folder, save, rank, plan, std::move(streams), StreamedStates(ctx, whole).tensors,
                   StreamedStates(ctx, own).tensors);
}

// Gathers every rank's text. If a rank fails, all throw Error and no rank commits. A rank that
// loses another one here keeps its part: rank 0 may have all texts, and commit a save that names
// it.
std::vector<std::string> GatherParts(Communicator& comm, const std::string& folder, int64_t save,
                                     const std::function<std::string()>& mine) {
  try {
    return GatherResultsSync(comm, kWhat, mine);
  } catch (const CommunicatorAborted&) {
    throw;
  } catch (...) {
    DiscardPart(folder, save, comm.rank());
    throw;
  }
}

// Commits the save on rank 0, which alone learns whether it counts; files of a failed one are
// removed.
void Commit(const std::string& folder, int64_t save, const CheckpointInfo& info,
            const std::vector<std::string>& parts) {
  try {
    CommitSave(folder, save, info, parts);
  } catch (...) {
    for (size_t rank = 0; rank < parts.size(); ++rank)
      DiscardPart(folder, save, static_cast<int>(rank));
    throw;
  }
}

}  // namespace

void SaveShardedCheckpoint(Context& ctx, Communicator& comm, const std::string& folder,
                           const CheckpointInfo& info, std::span<const ShardTensors> shards,
                           std::span<const NamedTensor> whole, std::span<const NamedTensor> own) {
  const int64_t save =
      InvokeOnRankAndBroadcastResult(comm, 0, kWhat, [&] { return NextSave(folder); });
  const std::vector<std::string> parts = GatherParts(comm, folder, save, [&] {
    return WriteMine(ctx, comm.rank(), folder, save, info.plan, shards, whole, own);
  });
  InvokeOnRankAndBroadcastResult(comm, 0, kWhat, [&] {
    Commit(folder, save, info, parts);
    return true;
  });
}

}  // namespace tessera
