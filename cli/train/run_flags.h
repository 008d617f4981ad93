#ifndef TESSERA_CLI_TRAIN_RUN_FLAGS_H_
#define TESSERA_CLI_TRAIN_RUN_FLAGS_H_
// `tessera train --run`: the flags that it stands for, and the folders and starts that it refuses.
#include <optional>

#include "cli/train/flags/train_command_flags.h"
#include "train/data_sets.h"
#include "train/run/training_run.h"

namespace tessera::cli {

// Sets --checkpoint, --metrics and --json by --run, and --resume where the folder has a checkpoint
// to go on from, or --overwrite where a start left none. Reads alone. Throws Error for one of these
// flags beside --run, and a folder that no run made, or whose checkpoint has another form.
void ApplyRunFlag(TrainFlags& flags, bool with_ranks);

// Whether the start goes on from a checkpoint of the run: the last, or the best before there is a
// last.
bool ContinuesRun(const TrainFlags& flags);

// Makes the folder a run's before anything else is in it: other processes of mpirun may look at it
// later than this one, and refuse a folder that is no run's.
void BeginRunFolder(const TrainFlags& flags);

// Throws Error for other rows than those of the run that --run goes on with, unless --other-data.
void CheckRunData(const TrainFlags& flags, const DataSets& data);

// Sets --best by --run, where there are rows for evaluation, and the metric to that of the run that
// --run goes on with, where this start names none. Throws Error for --pipeline semi_sync beside it,
// and for a run that is finished, also by the `progress` of the checkpoint that it would go on
// from. Reads alone.
void ApplyRunToEvaluations(TrainFlags& flags, bool with_ranks,
                           const std::optional<TrainingProgress>& progress, TrainConfig& config);

}  // namespace tessera::cli
#endif  // TESSERA_CLI_TRAIN_RUN_FLAGS_H_
