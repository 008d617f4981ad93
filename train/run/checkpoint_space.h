#ifndef TESSERA_TRAIN_RUN_CHECKPOINT_SPACE_H_
#define TESSERA_TRAIN_RUN_CHECKPOINT_SPACE_H_
// The room on disk that a training's checkpoints take, from its configuration, before anything is
// trained. A write itself looks whether its file fits (runtime/files/disk_space.h).
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "runtime/files/disk_space.h"
#include "train/config/train_config.h"

namespace tessera {

// Which rows of a growing table in parts a checkpoint has: a folder of ranks on CPUs has those that
// have come into use, every other form has all.
enum class RowsOfParts { kAll, kInUse };

// The bytes that a whole checkpoint has at least: weights and states of the tables and of the dense
// part, and what is known of raw ids before any has come. Rows of growing tables, their ids, and
// states of metrics come on top.
double BytesOfCheckpoint(const TrainConfig& config, RowsOfParts rows = RowsOfParts::kAll);

// Whole checkpoints that a training saves by one name.
struct SavedCheckpoints {
  std::string path = {};
  std::vector<std::string> there = {};  // files and folders that the first ones take the place of
  int64_t saves = 1;                    // how many the training makes at least
  int64_t kept = 1;                     // how many of these stay side by side
};

// Throws Error where a disk has no room for the checkpoints that stay, and for one that is complete
// before another one goes.
void CheckCheckpointSpace(const TrainConfig& config, const std::vector<SavedCheckpoints>& saved,
                          const std::function<DiskThere(const std::string&)>& disk_of = DiskOf,
                          RowsOfParts rows = RowsOfParts::kAll);

}  // namespace tessera
#endif  // TESSERA_TRAIN_RUN_CHECKPOINT_SPACE_H_
