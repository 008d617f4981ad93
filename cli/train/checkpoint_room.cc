#include "cli/train/checkpoint_room.h"

#include <algorithm>
#include <limits>
#include <set>

#include "cli/train/train_command_ranks.h"
#include "comm/leader.h"
#include "runtime/base/check.h"
#include "runtime/base/memory_limit.h"
#include "runtime/files/disk_space.h"
#include "train/checkpoint/kept_checkpoints.h"

namespace tessera::cli {
namespace {

// How often the checkpoint is saved until the last epoch is done.
int64_t SavesOf(const TrainFlags& flags, const TrainConfig& config,
                const std::optional<TrainingProgress>& from) {
  if (flags.checkpoint_every > 0) return std::numeric_limits<int64_t>::max();
  const auto& evaluation = config.evaluation;
  const bool may_stop = evaluation && (evaluation->target || evaluation->patience > 0);
  return std::max<int64_t>(1, config.epochs - (from ? from->epoch : 0) + (may_stop ? 1 : 0));
}

RowsOfParts RowsSaved(const TrainFlags& flags) {
  const bool on_cpus = ParseDevice(flags.device) == Device::Cpu();
  return WithRanks(flags) && on_cpus && !flags.incremental ? RowsOfParts::kInUse
                                                           : RowsOfParts::kAll;
}

}  // namespace

std::vector<SavedCheckpoints> CheckpointsOf(const TrainFlags& flags, const TrainConfig& config,
                                            const std::optional<TrainingProgress>& from) {
  std::vector<SavedCheckpoints> saved;
  const std::string &last = flags.checkpoint, &best = flags.evaluation.best;
  if (!last.empty()) {
    saved.push_back({.path = last,
                     .there = {last},
                     .saves = SavesOf(flags, config, from),
                     .kept = flags.keep_last.value_or(1) + flags.keep_chains.value_or(0)});
    if (flags.keep_last)
      for (const KeptCheckpoint& kept : KeptBeside(last)) saved[0].there.push_back(kept.path);
  }
  if (!best.empty()) saved.push_back({.path = best, .there = {best}});
  return saved;
}

void CheckCheckpointRoom(const TrainFlags& flags, const TrainConfig& config,
                         const std::optional<TrainingProgress>& from, Communicator* comm) {
  const auto check = [&] {
    CheckCheckpointSpace(config, CheckpointsOf(flags, config, from), DiskOf, RowsSaved(flags));
    return true;
  };
  if (comm == nullptr)
    check();
  else
    ThrowingAlike([&] {
      return InvokeOnRankAndBroadcastResult(*comm, 0, "looking for room on disk", check);
    });
}

std::string CheckpointRoomText(const TrainFlags& flags, const TrainConfig& config) {
  std::string text =
      Format("{} a checkpoint", BytesText(BytesOfCheckpoint(config, RowsSaved(flags))));
  std::set<uint64_t> shown;
  for (const std::string& path : {flags.checkpoint, flags.evaluation.best}) {
    if (path.empty()) continue;
    const DiskThere disk = DiskOf(path);
    if (shown.insert(disk.device).second)
      text += Format("; {} are free in {}", BytesText(disk.free), disk.folder);
  }
  return text;
}

}  // namespace tessera::cli
