#ifndef TESSERA_CLI_TRAIN_RESUMED_H_
#define TESSERA_CLI_TRAIN_RESUMED_H_
// The checkpoint that tessera train --resume goes on from.
#include <optional>
#include <string>

#include "cli/train/flags/train_command_flags.h"
#include "train/checkpoint/checkpoint.h"
#include "train/checkpoint/saved_form.h"
#include "train/run/resume_changes.h"
#include "train/trainer.h"

namespace tessera::cli {

// The checkpoint that --resume names. Ranks open it themselves, each for its parts.
struct Resumed {
  SavedForm form = SavedForm::kFile;
  std::string config;
  bool of_program = false;  // a file of SaveCheckpoint
  std::optional<TrainingProgress> progress;
  std::optional<Checkpoint> checkpoint;  // without ranks
  std::optional<ChainPosition> chain;    // where training goes on from
};

// Throws Error for states of optimizers without a place in a training.
Resumed ReadResumed(const TrainFlags& flags, bool with_ranks);

// Returns the run that this one goes on from; absent if only weights are known of it.
std::optional<ResumedRun> RunOf(const TrainFlags& flags, const Resumed& resumed);

// Loads what this rank needs of it, and says on the leader what of it is changed. False if it holds
// weights alone. Throws Error for a place in a training without the states of its optimizers.
bool LoadResumed(const TrainFlags& flags, Trainer& trainer, Resumed& resumed, bool is_leader);

}  // namespace tessera::cli
#endif  // TESSERA_CLI_TRAIN_RESUMED_H_
