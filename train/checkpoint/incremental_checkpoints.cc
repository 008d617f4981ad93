#include "train/checkpoint/incremental_checkpoints.h"

#include <filesystem>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/files/output_lock.h"
#include "train/checkpoint/checkpoint_files.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

// Whether the folder has files other than locks.
bool HoldsFiles(const std::string& folder) {
  for (const fs::directory_entry& file : fs::directory_iterator(folder))
    if (!IsLockName(file.path().filename().string())) return true;
  return false;
}

}  // namespace

IncrementalCheckpoints::IncrementalCheckpoints(std::string folder,
                                               const IncrementalOptions& options)
    : folder_(std::move(folder)), options_(options) {
  CheckOptions(options_);
  while (folder_.size() > 1 && folder_.ends_with('/')) folder_.pop_back();
  MakeChainFolder(folder_);
  // Checkpoints are not mixed with other programs' files.
  if (HoldsFiles(folder_) && !IsCheckpointFolder(folder_))
    throw Error(Format("{}: it is a folder of something else than checkpoints", folder_));
}

void IncrementalCheckpoints::GoOnFrom(const ChainPosition& position) {
  const ChainFiles newest = NewestChain(folder_);
  TESSERA_CHECK_EQ(position.number, newest.last(), "{}: number of the checkpoint to go on from",
                   folder_);
  position_ = position;
}

// The next number, after files that have come from elsewhere too, so that none is written over.
int64_t IncrementalCheckpoints::NextNumber() const {
  const int64_t next = tessera::NextNumber(folder_);
  if (position_ && next != position_->number + 1)
    throw Error(
        Format("{}: number {} is there, which this run has not saved: another run writes here",
               folder_, next - 1));
  return next;
}

std::string IncrementalCheckpoints::Write(Context& ctx, const ChainState& saved) {
  const int64_t number = NextNumber();
  const bool base = NextIsBase(options_, position_, DeltaBytes(saved.state, saved.changed));
  position_ = WriteChainFile(ctx, folder_, number, base, position_, saved);
  if (base) RemoveOldChains(folder_, options_.keep);
  return base ? BasePath(folder_, number) : DeltaPath(folder_, number);
}

}  // namespace tessera
