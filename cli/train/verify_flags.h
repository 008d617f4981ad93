#ifndef TESSERA_CLI_TRAIN_VERIFY_FLAGS_H_
#define TESSERA_CLI_TRAIN_VERIFY_FLAGS_H_
// tessera train --verify and --verify-every: a run held against the record of another one.
#include <memory>

#include "cli/command_line.h"
#include "cli/train/train_command_flags.h"
#include "train/verify/run_verifier.h"

namespace tessera::cli {

void AddVerifyFlags(Command app, TrainFlags& flags);

// Throws Error for what --verify does not go with, and for a record that this run cannot be held
// against.
void CheckVerify(const TrainFlags& flags, const TrainConfig& config, bool with_ranks);

// Watches the trainer's steps; null without --verify. Throws Error as RunVerifier does.
std::unique_ptr<RunVerifier> BeginVerify(const TrainFlags& flags, Trainer& trainer);
// Compares or adds the last state, and says how many digests were compared. `verifier` may be null.
void EndVerify(const TrainFlags& flags, RunVerifier* verifier);

}  // namespace tessera::cli
#endif  // TESSERA_CLI_TRAIN_VERIFY_FLAGS_H_
