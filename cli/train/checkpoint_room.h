#ifndef TESSERA_CLI_TRAIN_CHECKPOINT_ROOM_H_
#define TESSERA_CLI_TRAIN_CHECKPOINT_ROOM_H_
// The checkpoints that `tessera train` will save, and their room on disk.
#include <optional>
#include <string>
#include <vector>

#include "cli/train/flags/train_command_flags.h"
#include "comm/communicator.h"
#include "train/checkpoint/checkpoint.h"
#include "train/config/train_config.h"
#include "train/run/checkpoint_space.h"

namespace tessera::cli {

// The names that a run saves whole checkpoints by. `from`: what it goes on from.
std::vector<SavedCheckpoints> CheckpointsOf(const TrainFlags& flags, const TrainConfig& config,
                                            const std::optional<TrainingProgress>& from);

// Throws Error where a disk has no room for them: on every rank, which all call. comm: null without
// ranks.
void CheckCheckpointRoom(const TrainFlags& flags, const TrainConfig& config,
                         const std::optional<TrainingProgress>& from, Communicator* comm);

// "3.1 GiB a checkpoint; 40.2 GiB are free in /data", of each disk that the run saves to.
std::string CheckpointRoomText(const TrainFlags& flags, const TrainConfig& config);

}  // namespace tessera::cli
#endif  // TESSERA_CLI_TRAIN_CHECKPOINT_ROOM_H_
