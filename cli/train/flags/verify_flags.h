#ifndef TESSERA_CLI_TRAIN_FLAGS_VERIFY_FLAGS_H_
#define TESSERA_CLI_TRAIN_FLAGS_VERIFY_FLAGS_H_
// tessera train --verify and --verify-every: a run held against the record of another one.
#include <memory>
#include <optional>

#include "cli/command_line.h"
#include "cli/train/flags/train_command_flags.h"
#include "train/verify/run_verifier.h"

namespace tessera::cli {

void AddVerifyFlags(Command app, TrainFlags& flags);

// Throws Error for what --verify does not go with.
void CheckVerify(const TrainFlags& flags, const TrainConfig& config);

// Reads the record; null without --verify. Throws Error, alike on all ranks, for one that this run
// cannot be held against, and for a plan that --verify does not go with. Every rank calls.
std::unique_ptr<RunRecord> ReadRecord(const TrainFlags& flags, const TrainConfig& config,
                                      const std::optional<TrainingRanks>& ranks);

// Watches the trainer's steps; null without a record. Throws Error as RunVerifier does. Every rank
// calls.
std::unique_ptr<RunVerifier> BeginVerify(const TrainFlags& flags, std::unique_ptr<RunRecord> record,
                                         Trainer& trainer);
// Compares or adds the last state; the leader says how many digests were equal. `verifier` may be
// null. Every rank calls.
std::optional<VerifyReport> EndVerify(RunVerifier* verifier, bool is_leader);

}  // namespace tessera::cli
#endif  // TESSERA_CLI_TRAIN_FLAGS_VERIFY_FLAGS_H_
