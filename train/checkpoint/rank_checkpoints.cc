#include "train/checkpoint/rank_checkpoints.h"

#include <filesystem>
#include <utility>

#include "comm/leader.h"
#include "runtime/files/output_lock.h"
#include "runtime/tensor.h"
#include "train/checkpoint/checkpoint_chain.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

constexpr char kWhat[] = "saving an incremental checkpoint";

int64_t LastSave(const std::string& folder) {
  const std::vector<int64_t> saves = SavesOfRanks(folder);
  return saves.empty() ? 0 : saves.back();
}

// Whether the folder has files other than locks and folders of ranks, which a first save that was
// interrupted has left.
bool HoldsOtherFiles(const std::string& folder) {
  size_t others = 0;
  for (const fs::directory_entry& file : fs::directory_iterator(folder))
    others += !IsLockName(file.path().filename().string());
  return others > RanksIn(folder).size();
}

void MakeFolderOfRanks(const std::string& folder) {
  MakeChainFolder(folder);
  if (LastSave(folder) == 0 && HoldsOtherFiles(folder))
    throw Error(Format("{}: it is a folder of something else than checkpoints of ranks", folder));
}

}  // namespace

RankCheckpoints::RankCheckpoints(Communicator& comm, std::string folder,
                                 const IncrementalOptions& options)
    : comm_(comm), folder_(std::move(folder)), options_(options) {
  CheckOptions(options_);
  while (folder_.size() > 1 && folder_.ends_with('/')) folder_.pop_back();
  InvokeOnRankAndBroadcastResult(comm_, 0, kWhat, [&] {
    MakeFolderOfRanks(folder_);
    return true;
  });
  GatherResultsSync(comm_, kWhat, [&] {
    MakeChainFolder(MyFolder());
    RemoveAfter(MyFolder(), LastSave(folder_));
    return std::string();
  });
}

std::string RankCheckpoints::MyFolder() const { return RankFolder(folder_, comm_.rank()); }

void RankCheckpoints::GoOn() {
  GatherResultsSync(comm_, kWhat, [&] {
    position_ = ReadPosition(ChainUpTo(MyFolder(), LastSave(folder_)));
    return std::string();
  });
}

// The next number, after saves that have come from elsewhere too, so that none is written over.
int64_t RankCheckpoints::NextNumberSync() const {
  return InvokeOnRankAndBroadcastResult(comm_, 0, kWhat, [&] {
    const int64_t last = LastSave(folder_);
    if (position_ && last != position_->number)
      throw Error(
          Format("{}: save {} is there, which this run has not saved: another run writes here",
                 folder_, last));
    return last + 1;
  });
}

// Decides on the bytes of all ranks together: some ranks may have next to none.
bool RankCheckpoints::NextIsBaseSync(Context& ctx, int64_t delta_bytes) const {
  if (!position_) return true;
  const std::vector<int64_t> mine = {position_->base_bytes, position_->delta_bytes, delta_bytes};
  const std::vector<int64_t> all =
      comm_.AllReduce(ctx, Tensor::From(ctx, mine), ReduceOp::kSum, kWhat)
          .Wait()
          .ToVector<int64_t>();
  ChainPosition together = *position_;
  together.base_bytes = all[0];
  together.delta_bytes = all[1];
  return NextIsBase(options_, together, all[2]);
}

// Writes every rank's file, and gathers their results. If one could not write, Error on all; then
// no rank commits. A rank that loses another one here keeps its file: rank 0 may have all results,
// and commit a save that names it.
std::vector<std::string> RankCheckpoints::WriteFilesSync(int64_t number,
                                                         const std::function<std::string()>& mine) {
  try {
    return GatherResultsSync(comm_, kWhat, mine);
  } catch (const CommunicatorAborted&) {
    throw;
  } catch (...) {
    RemoveAfter(MyFolder(), number - 1);
    throw;
  }
}

// Commits the save on rank 0, which alone learns whether it counts.
void RankCheckpoints::Commit(int64_t number, const CheckpointInfo& info,
                             const std::vector<std::string>& described) const {
  try {
    CommitRankFiles(folder_, number, info, described);
  } catch (...) {
    for (int rank = 0; rank < comm_.size(); ++rank)
      RemoveAfter(RankFolder(folder_, rank), number - 1);
    throw;
  }
}

void RankCheckpoints::Write(Context& ctx, const CheckpointInfo& info, const RankState& mine,
                            const TrainingProgress& progress, const std::string& config) {
  const ChainState state = ChainStateOf(mine, progress, config);
  const int64_t number = NextNumberSync();
  const bool base = NextIsBaseSync(ctx, DeltaBytes(state.state, state.changed));
  ChainPosition after;
  const std::vector<std::string> described = WriteFilesSync(number, [&] {
    after = WriteChainFile(ctx, MyFolder(), number, base, position_, state);
    return DescribeRankFile(mine, after.identity);
  });
  InvokeOnRankAndBroadcastResult(comm_, 0, kWhat, [&] {
    Commit(number, info, described);
    return true;
  });
  position_ = after;
  if (!base) return;
  GatherResultsSync(comm_, kWhat, [&] {
    RemoveOldRankFiles(folder_, comm_.rank(), comm_.size(), options_.keep);
    return std::string();
  });
}

}  // namespace tessera
