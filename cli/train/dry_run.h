#ifndef TESSERA_CLI_TRAIN_DRY_RUN_H_
#define TESSERA_CLI_TRAIN_DRY_RUN_H_
// `tessera train --dry-run`: what a training would do, once everything that its start checks is as
// it should be.
#include <optional>

#include "cli/train/flags/train_command_flags.h"
#include "runtime/base/memory_limit.h"
#include "train/checkpoint/checkpoint.h"
#include "train/config/train_config.h"
#include "train/data_sets.h"
#include "train/training_memory.h"

namespace tessera::cli {

// A line each for the model, rows, epochs, memory of the host at this place, and what would be
// written. `from`: where the checkpoint of --resume stands.
void PrintDryRun(const TrainFlags& flags, const TrainConfig& config, const DataSets& data,
                 const TrainingPlace& place, const MemoryThere& there,
                 const std::optional<TrainingProgress>& from);

}  // namespace tessera::cli
#endif  // TESSERA_CLI_TRAIN_DRY_RUN_H_
