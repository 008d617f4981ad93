#include "train/checkpoint/incremental_checkpoints.h"

#include <filesystem>
#include <utility>

#include "runtime/files.h"
#include "runtime/output_lock.h"
#include "train/checkpoint/checkpoint_files.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

void CheckOptions(const IncrementalOptions& options) {
  TESSERA_CHECK_GE(options.max_deltas, 0, "incremental checkpoints: deltas of a base");
  TESSERA_CHECK(options.max_delta_share > 0,
                "incremental checkpoints: deltas of {} of the base's bytes; expected more than 0",
                options.max_delta_share);
  TESSERA_CHECK_GE(options.keep, 0, "incremental checkpoints: chains to keep");
}

// Other than locks.
bool HoldsFiles(const std::string& folder) {
  for (const fs::directory_entry& file : fs::directory_iterator(folder))
    if (!IsLockName(file.path().filename().string())) return true;
  return false;
}

void MakeFolder(const std::string& folder) {
  std::error_code error;
  fs::create_directory(folder, error);
  if (error) throw Error(Format("{}: cannot be made: {}", folder, error.message()));
  RemoveUnfinished(folder);
  // What others keep here is not mixed with checkpoints.
  if (HoldsFiles(folder) && !IsCheckpointFolder(folder))
    throw Error(Format("{}: it is a folder of something else than checkpoints", folder));
  const std::string parent = fs::path(folder).parent_path().string();
  SyncFolder(parent.empty() ? "." : parent);
}

}  // namespace

IncrementalCheckpoints::IncrementalCheckpoints(std::string folder,
                                               const IncrementalOptions& options)
    : folder_(std::move(folder)), options_(options) {
  CheckOptions(options_);
  while (folder_.size() > 1 && folder_.ends_with('/')) folder_.pop_back();
  MakeFolder(folder_);
}

void IncrementalCheckpoints::GoOnFrom(const ChainPosition& position) {
  const ChainFiles newest = NewestChain(folder_);
  TESSERA_CHECK_EQ(position.number, newest.last(), "{}: number of the checkpoint to go on from",
                   folder_);
  position_ = position;
}

bool IncrementalCheckpoints::NextIsBase(int64_t delta_bytes) const {
  if (!position_) return true;
  const double share = options_.max_delta_share * static_cast<double>(position_->base_bytes);
  return position_->deltas >= options_.max_deltas ||
         static_cast<double>(position_->delta_bytes + delta_bytes) > share;
}

// Files that came since from elsewhere are seen, and not written over.
int64_t IncrementalCheckpoints::NextNumber() const {
  const int64_t next = tessera::NextNumber(folder_);
  if (position_ && next != position_->number + 1)
    throw Error(
        Format("{}: number {} is there, which this run has not saved: another run writes here",
               folder_, next - 1));
  return next;
}

std::string IncrementalCheckpoints::Write(Context& ctx, const std::vector<NamedTensor>& state,
                                          const std::vector<ChangedRows>& changed,
                                          const TrainingProgress& progress,
                                          const std::string& config) {
  const int64_t number = NextNumber();
  const bool base = NextIsBase(DeltaBytes(state, changed));
  std::string path = base ? BasePath(folder_, number) : DeltaPath(folder_, number);
  position_ = Committed(path, number, base, [&] {
    if (base)
      WriteCheckpoint(ctx, path, state, progress, config);
    else
      WriteDelta(ctx, path, state, changed, progress, config, number, position_->identity);
  });
  if (base) RemoveOldChains(folder_, options_.keep);
  return path;
}

// A file that may not outlast a loss of power goes: the next save has its number.
ChainPosition IncrementalCheckpoints::Committed(const std::string& path, int64_t number, bool base,
                                                const std::function<void()>& write) const {
  try {
    write();
    return PositionAfter(path, number, base);
  } catch (...) {
    std::error_code ignored;
    fs::remove(path, ignored);
    throw;
  }
}

ChainPosition IncrementalCheckpoints::PositionAfter(const std::string& path, int64_t number,
                                                    bool base) const {
  const int64_t bytes = static_cast<int64_t>(fs::file_size(path));
  ChainPosition position;
  if (!base) position = *position_;
  position.folder = folder_;
  position.number = number;
  position.identity = FileIdentity(SafetensorsFile(path).metadata());
  (base ? position.base_bytes : position.delta_bytes) += bytes;
  position.deltas += !base;
  return position;
}

}  // namespace tessera
