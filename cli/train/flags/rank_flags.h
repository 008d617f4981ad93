#ifndef TESSERA_CLI_TRAIN_FLAGS_RANK_FLAGS_H_
#define TESSERA_CLI_TRAIN_FLAGS_RANK_FLAGS_H_
// The flags of `tessera train` that are about its ranks, and what is refused of them.
#include "cli/command_line.h"
#include "cli/train/flags/train_command_flags.h"

namespace tessera::cli {

void AddRankFlags(Command app, TrainFlags& flags);

// Sharding groups: ranks, of --ranks or of mpirun, divided by --sharding-group-size; 1 without it.
// Throws Error where it does not divide them.
int NumGroups(const TrainFlags& flags);

// Throws Error for flags of ranks that do not fit together, and for those of a run without ranks.
void CheckFlagsOfRanks(const TrainFlags& flags, bool with_ranks);

}  // namespace tessera::cli
#endif  // TESSERA_CLI_TRAIN_FLAGS_RANK_FLAGS_H_
