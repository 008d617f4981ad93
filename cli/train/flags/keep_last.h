#ifndef TESSERA_CLI_TRAIN_FLAGS_KEEP_LAST_H_
#define TESSERA_CLI_TRAIN_FLAGS_KEEP_LAST_H_
// Checkpoints that lie beside --checkpoint, kept by --keep-last: what they do not go with, and what
// becomes of those of other trainings.
#include <optional>
#include <string>

#include "cli/train/flags/train_command_flags.h"
#include "train/checkpoint/checkpoint.h"

namespace tessera::cli {

// Throws Error for --keep-last beside flags that it does not go with.
void CheckKeepLast(const TrainFlags& flags);

// Whether training goes on from the checkpoint that it replaces, or from one kept beside it.
// `from`: where it stands; absent where only weights are known.
bool GoesOnThere(const TrainFlags& flags, const std::optional<TrainingProgress>& from);

// Throws Error where --checkpoint lies beside what another training has kept, unless --overwrite
// removes that.
void CheckKeptBeside(const TrainFlags& flags, const std::optional<TrainingProgress>& from);

// The checkpoints that the first save removes, and why; "" for none.
std::string RemovedText(const TrainFlags& flags, const std::optional<TrainingProgress>& from);

}  // namespace tessera::cli
#endif  // TESSERA_CLI_TRAIN_FLAGS_KEEP_LAST_H_
